#include "executors/attempt_files.hpp"

#include "executors/launcher_protocol.hpp"
#include "platform/unique_fd.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace stagecall {
namespace {

constexpr std::size_t kExitRecordBytesMax = std::size_t{64} << 10;

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

int write_file(const std::string& path, std::string_view bytes) {
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  if (!file) {
    return errno;
  }
  const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
  if (written < 0) {
    return errno;
  }
  return static_cast<std::size_t>(written) == bytes.size() ? 0 : ENOSPC;
}

/// Tries again with the parent made where it is missing: it may be removed in between, by the
/// acknowledgement of another attempt of its run. 0, or the error number.
template <class Make>
int with_parent(const std::string& path, Make make) {
  int error = ENOENT;
  for (int tries = 0; tries < 3 && error == ENOENT; ++tries) {
    error = make();
    if (error == ENOENT && ::mkdir(parent_of(path).c_str(), 0700) != 0 && errno != EEXIST) {
      return errno;
    }
  }
  return error;
}

}  // namespace

std::string error_text(int error_number) {
  const char* text = ::strerrordesc_np(error_number);
  return text != nullptr ? text : "error " + std::to_string(error_number);
}

std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  std::string bytes(limit + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

int make_folder(const std::string& path) {
  return with_parent(path, [&] { return ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno; });
}

std::string inputs_path(const std::string& folder) {
  return folder + ".inputs";
}

int write_inputs(const std::string& folder, std::string_view json) {
  const std::string path = inputs_path(folder);
  return with_parent(path, [&] { return write_file(path, json); });
}

std::optional<Outcome> read_exit_record(const std::string& folder) {
  const auto bytes = read_regular_file(folder + "/exit", kExitRecordBytesMax);
  return bytes ? parse_exit_record(*bytes) : std::nullopt;
}

int write_exit_record(const std::string& folder, const Outcome& outcome) {
  const std::string written = folder + "/exit.new";
  if (const int error = write_file(written, encode_exit_record(outcome)); error != 0) {
    return error;
  }
  return ::rename(written.c_str(), (folder + "/exit").c_str()) == 0 ? 0 : errno;
}

void remove_attempt(const std::string& folder) {
  if (::unlink((folder + "/exit").c_str()) != 0) {
    return;
  }
  ::unlink((folder + "/output").c_str());
  ::unlink(inputs_path(folder).c_str());
  if (::rmdir(folder.c_str()) == 0) {
    ::rmdir(parent_of(folder).c_str());
  }
}

}  // namespace stagecall
