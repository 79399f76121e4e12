#include "cli/signals.hpp"

#include "cli/exit_code.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace stagecall::cli {
namespace {

// A handler has no argument: what it needs is global.
std::atomic<int> signals_seen{0};
std::array<int, 2> wake_pipe{-1, -1};

static_assert(std::atomic<int>::is_always_lock_free, "used by a signal handler");

void on_signal(int /*signal*/) {
  const int errno_before = errno;
  if (signals_seen.fetch_add(1) > 0) {
    ::_exit(static_cast<int>(ExitCode::interrupted));
  }
  const char byte = 1;
  [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);
  errno = errno_before;
}

}  // namespace

void watch_signals() {
  if (::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    wake_pipe = {-1, -1};  // waits then last their full length
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // A reader of stderr that goes away must not end the engine.
  std::signal(SIGPIPE, SIG_IGN);
}

bool is_interrupted() {
  return signals_seen.load() > 0;
}

void wait_for_signal(Duration wait) {
  pollfd wake{.fd = wake_pipe[0], .events = POLLIN, .revents = 0};
  ::poll(&wake, 1, static_cast<int>(wait.count()));
}

}  // namespace stagecall::cli
