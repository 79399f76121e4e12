// What threads wait at until it is opened, once and for good.
#pragma once

#include <condition_variable>
#include <mutex>

namespace stagecall::testing {

class Gate {
 public:
  void open() {
    const std::lock_guard lock{mutex_};
    is_open_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

}  // namespace stagecall::testing
