// stagecall-launcher: started by the process executor with its socket as descriptor 3 and its
// incarnation's lock as descriptor 4, in a session of its own, with every signal blocked.
#include "executors/launcher/launcher.hpp"
#include "executors/pidfd.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace {

/// By system call: glibc leaves its own two real-time signals out, and a host may have been started
/// with them ignored.
void reset_signal_handlers() {
  constexpr std::size_t kMaskBytes = 8;
  const std::array<unsigned long, 4> default_action{};  // the kernel's struct sigaction
  for (int number = 1; number <= 64; ++number) {
    ::syscall(SYS_rt_sigaction, number, default_action.data(), nullptr, kMaskBytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kSocket = 3;
  constexpr int kLock = 4;
  if (argc != 2) {
    return 2;
  }
  const auto engine_pid = static_cast<pid_t>(std::strtol(argv[1], nullptr, 10));
  ::close_range(5, ~0U, 0);
  ::fcntl(kSocket, F_SETFD, FD_CLOEXEC);
  ::fcntl(kLock, F_SETFD, FD_CLOEXEC);
  reset_signal_handlers();
  ::prctl(PR_SET_NAME, "stagecall-launch");
  // Orphans of commands come here, not to init: no zombie is left to anybody else.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const rlimit raised{files.rlim_max, files.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);

  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  stagecall::UniqueFd engine = stagecall::open_process(engine_pid);
  if (!engine || ::getppid() != engine_pid) {
    return 0;  // the engine has died already, and nothing was launched
  }
  stagecall::Launcher launcher{
      {.socket = stagecall::UniqueFd{kSocket},
       .engine = std::move(engine),
       .children = stagecall::UniqueFd{::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK)},
       .files = files}};
  launcher.run();
  return 0;
}
