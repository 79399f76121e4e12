#include "platform/process.hpp"

#include "platform/incarnations.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace stagecall {
namespace {

std::string read_whole(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Field 22 of /proc/PID/stat. The name in field 2 may hold blanks and parentheses, so fields are
/// counted from the last one. None: no such process, or it is a zombie.
std::optional<std::uint64_t> start_time_of(std::int64_t pid) {
  const std::string stat = read_whole("/proc/" + std::to_string(pid) + "/stat");
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
  std::string boot_id = read_whole("/proc/sys/kernel/random/boot_id");
  while (!boot_id.empty() && boot_id.back() == '\n') {
    boot_id.pop_back();
  }
  const auto pid = static_cast<std::int64_t>(::getpid());
  return {host.data(), boot_id, pid, start_time_of(pid).value_or(0)};
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
  return start_time_of(process.pid) == process.start_time ? Liveness::alive : Liveness::gone;
}

Liveness liveness_of(const ReplicaIdentity& replica) {
  return has_ended_here(replica.incarnation) ? Liveness::gone : liveness_of(replica.process);
}

}  // namespace stagecall
