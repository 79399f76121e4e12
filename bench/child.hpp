// Programs run beside the bench: one that is awaited, one that serves until it is no longer needed.
#pragma once

#include "stagecall/error.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace stagecall::bench {

/// A program that runs until this goes; then it is killed. Its stdout and stderr go to a file.
class Child {
 public:
  /// The program is looked for in PATH. unsupported: it is not there.
  static Result<Child> start(const std::vector<std::string>& argv, const std::string& output);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool has_ended();
  /// Waits for its end; its exit status, or 128 and the signal.
  int wait();

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_;        // 0: moved from
  int status_ = -1;  // none yet
};

/// Starts it and waits. `internal`: it has not ended with 0.
Result<void> run_program(const std::vector<std::string>& argv, const std::string& output);

}  // namespace stagecall::bench
