#include "executors/launcher_lock.hpp"

#include "executors/attempt_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace stagecall {
namespace {

std::string lock_path(const std::string& folder, const std::string& incarnation) {
  return folder + "/launchers/" + incarnation;
}

/// Whether the path still names the open file: a sweep may have removed it before it was locked.
bool is_same_file(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

Result<UniqueFd> take_launcher_lock(const std::string& folder, const std::string& incarnation) {
  const std::string path = lock_path(folder, incarnation);
  int error = 0;
  for (int tries = 0; tries < 10; ++tries) {
    UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!file) {
      error = errno;
      break;
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      error = errno;
    } else if (is_same_file(file.get(), path)) {
      return file;
    }
  }
  return fail(ErrorCode::executor_unavailable,
              "cannot lock \"" + path + "\" for the launcher: " + error_text(error));
}

bool is_launcher_alive(const std::string& folder, const std::string& incarnation) {
  const std::string path = lock_path(folder, incarnation);
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!file) {
    return errno != ENOENT;
  }
  // Shared, so that two who look do not take each other for the launcher.
  return ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

void sweep_launcher_locks(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{folder + "/launchers", ignored}) {
    const std::string path = entry.path().string();
    const UniqueFd file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_same_file(file.get(), path)) {
      ::unlink(path.c_str());
    }
  }
}

}  // namespace stagecall
