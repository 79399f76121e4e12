// Wakes the threads that wait for runs: each time one has ended, or was let go, here.
#pragma once

#include "stagecall/time.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace stagecall {

class Departures {
 public:
  void add() {
    {
      const std::lock_guard lock{mutex_};
      ++count_;
    }
    changed_.notify_all();
  }

  /// Read before a look at the store, so that what comes after the look is not missed.
  std::uint64_t count() {
    const std::lock_guard lock{mutex_};
    return count_;
  }

  /// Returns with the next departure after `count`, or after the wait.
  void wait_past(std::uint64_t count, Duration wait) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, wait, [&] { return count_ != count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
};

}  // namespace stagecall
