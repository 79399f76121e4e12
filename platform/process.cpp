#include "platform/process.hpp"

#include "platform/incarnations.hpp"
#include "platform/unique_fd.hpp"

#include <fcntl.h>
#include <tl/expected.hpp>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace stagecall {
namespace {

/// What a file of /proc says, which one read gives whole; or the number of the error. That of a
/// process that ends between the two calls is ESRCH.
tl::expected<std::string, int> read_proc(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::array<char, 4'096> text{};
  ssize_t size = -1;
  do {
    size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  } while (size < 0 && file && errno == EINTR);
  if (size < 0) {
    return tl::unexpected<int>{errno};
  }
  return std::string{text.data(), static_cast<std::size_t>(size)};
}

/// Field 22 of /proc/PID/stat. The name in field 2 may hold blanks and parentheses, so fields are
/// counted from the last one. None: it is a zombie.
std::optional<std::uint64_t> start_time_in(const std::string& stat) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) {
    return std::nullopt;
  }
  std::string_view rest{stat};
  rest.remove_prefix(name_end + 2);
  if (rest.front() == 'Z' || rest.front() == 'X') {
    return std::nullopt;
  }
  for (int field = 3; field < 22; ++field) {
    const auto blank = rest.find(' ');
    if (blank == std::string_view::npos) {
      return std::nullopt;
    }
    rest.remove_prefix(blank + 1);
  }
  std::uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return error == std::errc{} ? std::optional{ticks} : std::nullopt;
}

ProcessIdentity read_this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string boot_id = read_proc("/proc/sys/kernel/random/boot_id").value_or("");
  while (!boot_id.empty() && boot_id.back() == '\n') {
    boot_id.pop_back();
  }
  const auto pid = static_cast<std::int64_t>(::getpid());
  const std::string stat = read_proc("/proc/self/stat").value_or("");
  return {host.data(), boot_id, pid, start_time_in(stat).value_or(0)};
}

}  // namespace

const ProcessIdentity& this_process() {
  static const ProcessIdentity identity = read_this_process();
  return identity;
}

Liveness liveness_of(const ProcessIdentity& process) {
  const ProcessIdentity& self = this_process();
  if (process.host != self.host) {
    return Liveness::unknown;
  }
  if (process.boot_id != self.boot_id) {
    return Liveness::gone;
  }
  const auto stat = read_proc("/proc/" + std::to_string(process.pid) + "/stat");
  if (!stat) {
    return stat.error() == ENOENT || stat.error() == ESRCH ? Liveness::gone : Liveness::unknown;
  }
  return start_time_in(*stat) == process.start_time ? Liveness::alive : Liveness::gone;
}

Liveness liveness_of(const ReplicaIdentity& replica) {
  return has_ended_here(replica.incarnation) ? Liveness::gone : liveness_of(replica.process);
}

}  // namespace stagecall
