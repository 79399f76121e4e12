#include "executors/launcher/log_writer.hpp"

#include "executors/command_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stagecall {

void LogWriter::write(std::string_view bytes) {
  if (!file_) {
    file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  while (!bytes.empty()) {
    const bool is_head = total_ < kLogHeadBytes;
    const std::uint64_t ring_offset = is_head ? 0 : (total_ - kLogHeadBytes) % kLogTailBytes;
    const std::uint64_t offset = is_head ? total_ : kLogHeadBytes + ring_offset;
    const std::uint64_t room = is_head ? kLogHeadBytes - total_ : kLogTailBytes - ring_offset;
    const std::string_view part = bytes.substr(0, room);
    put(part, offset);
    total_ += part.size();
    bytes.remove_prefix(part.size());
  }
  if (total_ > kLogRingEnd) {
    put({reinterpret_cast<const char*>(&total_), sizeof total_}, kLogRingEnd);
  }
}

void LogWriter::put(std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

}  // namespace stagecall
