#include "persistence/file_identity.hpp"

#include "platform/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace stagecall {

Result<FileIdentity> identify_file(const std::string& path) {
  struct ::stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const int code = errno;
    return fail(code == ENOENT ? ErrorCode::not_found : ErrorCode::store_unavailable,
                "cannot find " + path + ": " + std::strerror(code));
  }
  return FileIdentity{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size)};
}

Result<void> create_private_file(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!file) {
    return fail(ErrorCode::store_unavailable,
                "cannot create " + path + ": " + std::strerror(errno));
  }
  return {};
}

}  // namespace stagecall
