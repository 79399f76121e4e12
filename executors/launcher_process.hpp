// The engine's handle of its launcher: starts the program embedded in this library, and ends it.
#pragma once

#include "platform/unique_fd.hpp"
#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <sys/types.h>

#include <string>

namespace stagecall {

class LauncherProcess {
 public:
  /// Safe in a host with many threads. The folder exists; the lock is taken here.
  static Result<LauncherProcess> start(const std::string& folder, const std::string& incarnation);

  LauncherProcess(LauncherProcess&&) = default;
  LauncherProcess& operator=(LauncherProcess&&) = delete;
  /// Kills what still lives.
  ~LauncherProcess();

  int socket() const { return socket_.get(); }
  pid_t pid() const { return pid_; }

  /// Tells it that nothing more comes, and gives it so long to exit by itself.
  void finish(Duration wait);
  /// Ends it and every command of its session by force; returns when it is reaped. What made a
  /// session of its own is not reached.
  void kill();

 private:
  LauncherProcess(pid_t pid, UniqueFd handle, UniqueFd socket)
      : pid_(pid), handle_(std::move(handle)), socket_(std::move(socket)) {}

  pid_t pid_ = -1;
  UniqueFd handle_;  ///< pidfd; none once it is reaped
  UniqueFd socket_;
};

}  // namespace stagecall
