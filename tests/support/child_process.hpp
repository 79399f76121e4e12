// A program run as a child: what it wrote, how it ended. Waits are bounded; a child that outlives
// its test is killed.
#pragma once

#include "tests/support/corpus.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stagecall::testing {

using Environment = std::map<std::string, std::string>;

struct ChildEnd {
  int exit_code = -1;  ///< -1: it did not exit by itself in time
  std::string out;
  std::string err;
};

class ChildProcess {
 public:
  /// The environment is exactly this one. stdin is /dev/null.
  ChildProcess(const std::vector<std::string>& argv, const Environment& environment) {
    std::vector<char*> arguments;
    for (const std::string& argument : argv) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    std::vector<std::string> settings;
    for (const auto& [name, value] : environment) {
      settings.push_back(name + "=" + value);
    }
    std::vector<char*> variables;
    for (std::string& setting : settings) {
      variables.push_back(setting.data());
    }
    variables.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out().c_str(), kWrite, 0600);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err().c_str(), kWrite, 0600);
    const int failure = ::posix_spawn(&pid_, argv.front().c_str(), &actions, nullptr,
                                      arguments.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
      throw std::runtime_error{"cannot start " + argv.front()};
    }
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (!status_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void signal(int number) const { ::kill(pid_, number); }

  pid_t pid() const { return pid_; }

  /// What it has written so far.
  std::string out_so_far() const { return testing::read_file(out()); }
  std::string err_so_far() const { return testing::read_file(err()); }

  bool has_ended() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status;
    }
    return status_.has_value();
  }

  ChildEnd wait(std::chrono::seconds bound = std::chrono::seconds{30}) {
    eventually([this] { return has_ended(); }, bound);
    const bool exited = status_ && WIFEXITED(*status_);
    return {exited ? WEXITSTATUS(*status_) : -1, testing::read_file(out()),
            testing::read_file(err())};
  }

 private:
  std::string out() const { return folder_ / "out"; }
  std::string err() const { return folder_ / "err"; }

  TempFolder folder_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace stagecall::testing
