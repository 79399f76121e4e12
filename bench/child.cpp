#include "bench/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace stagecall::bench {

Result<Child> Child::start(const std::vector<std::string>& argv, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int failure =
      ::posix_spawnp(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return fail(ErrorCode::unsupported,
                "cannot start " + argv.front() + ": " + std::strerror(failure));
  }
  return Child{pid};
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)), status_(other.status_) {}

Child::~Child() {
  if (pid_ != 0 && status_ < 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
}

void Child::signal(int number) const {
  ::kill(pid_, number);
}

bool Child::has_ended() {
  siginfo_t info{};
  return status_ >= 0 ||
         (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

int Child::wait() {
  if (status_ < 0) {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

Result<void> run_program(const std::vector<std::string>& argv, const std::string& output) {
  auto child = Child::start(argv, output);
  if (!child) {
    return tl::unexpected<Error>{child.error()};
  }
  if (const int status = child->wait(); status != 0) {
    return fail(ErrorCode::internal, argv.front() + " ended with " + std::to_string(status));
  }
  return {};
}

}  // namespace stagecall::bench
