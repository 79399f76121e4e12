#include "executors/command_log.hpp"

#include "executors/attempt_path.hpp"
#include "executors/process_executor.hpp"
#include "platform/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stagecall {
namespace {

/// Up to `size` bytes from `offset`; fewer at the end of the file.
std::string read_at(int fd, std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// The number of all bytes; 0 while the ring has not wrapped.
std::uint64_t read_total(int fd) {
  std::uint64_t total = 0;
  const std::string bytes = read_at(fd, kLogRingEnd, sizeof total);
  if (bytes.size() == sizeof total) {
    std::memcpy(&total, bytes.data(), sizeof total);
  }
  return total;
}

}  // namespace

Result<CommandLog> read_command_log(const std::string& folder, const AttemptKey& key) {
  const std::string path = attempt_folder(folder, key) + "/log";
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!file) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::executor_unavailable;
    return fail(code, "cannot read the log of " + key.text() + ": " + ::strerrordesc_np(errno));
  }
  CommandLog log;
  log.head = read_at(file.get(), 0, kLogHeadBytes);
  const std::uint64_t total = read_total(file.get());
  std::string ring = read_at(file.get(), kLogHeadBytes, kLogTailBytes);
  if (total <= kLogRingEnd) {
    log.tail = std::move(ring);
    return log;
  }
  const std::uint64_t ring_next = (total - kLogHeadBytes) % kLogTailBytes;
  std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(ring_next), ring.end());
  // A running command writes on meanwhile: what may have been overwritten is left out.
  const std::uint64_t written = read_total(file.get()) - total;
  const std::uint64_t doubtful =
      written == 0 ? 0 : std::min<std::uint64_t>(written + kLogChunkBytes, ring.size());
  ring.erase(0, doubtful);
  log.tail = std::move(ring);
  log.bytes_left_out = total - log.head.size() - log.tail.size();
  return log;
}

}  // namespace stagecall
