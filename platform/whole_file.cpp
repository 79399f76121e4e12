#include "platform/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stagecall {
namespace {

constexpr std::uint64_t kBlanks = std::uint64_t{64} << 10;

tl::unexpected<Error> cannot_write(const std::string& path, const std::string& cause) {
  return fail(ErrorCode::invalid_argument, "cannot write " + path + ": " + cause);
}

}  // namespace

Result<WholeFile> WholeFile::open(const std::string& path, Frame frame) {
  // Not blocking: a FIFO without a reader is refused instead of waited for.
  UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644)};
  if (!file) {
    return cannot_write(path, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return cannot_write(path, "it is no regular file");
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return cannot_write(path, "another process writes it");
  }
  WholeFile whole{std::move(file), path, std::move(frame)};
  if (::ftruncate(whole.file_.get(), 0) != 0) {
    return cannot_write(path, std::strerror(errno));
  }
  if (auto put = whole.put(whole.frame_.begin + whole.frame_.end, 0); !put) {
    return cannot_write(path, put.error().message);
  }
  whole.size_ = whole.frame_.begin.size() + whole.frame_.end.size();
  whole.room_ = whole.size_;
  return whole;
}

WholeFile::~WholeFile() {
  if (file_) {
    static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(size_)));
  }
}

Result<void> WholeFile::append(std::string_view part) {
  const std::uint64_t at = size_ - frame_.end.size();
  std::string text = has_parts_ ? frame_.between : std::string{};
  text.append(part).append(frame_.end);
  if (auto made = make_room(at + text.size()); !made) {
    return made;
  }
  if (auto written = put(text, at); !written) {
    std::string before = frame_.end;
    before.append(text.size() - before.size(), ' ');
    static_cast<void>(put(before, at));
    return written;
  }
  size_ = at + text.size();
  has_parts_ = true;
  return {};
}

Result<void> WholeFile::make_room(std::uint64_t end) {
  if (end <= room_) {
    return {};
  }
  const std::uint64_t room = end + kBlanks;
  auto written = put(std::string(room - room_, ' '), room_);
  if (written) {
    room_ = room;
  } else {
    static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(room_)));
  }
  return written;
}

Result<void> WholeFile::put(const std::string& text, std::uint64_t at) {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto size = ::pwrite(file_.get(), text.data() + done, text.size() - done,
                               static_cast<off_t>(at + done));
    if (size < 0 && errno != EINTR) {
      return fail(ErrorCode::store_unavailable, "write " + path_ + ": " + std::strerror(errno));
    }
    done += size < 0 ? 0 : static_cast<std::size_t>(size);
  }
  return {};
}

}  // namespace stagecall
