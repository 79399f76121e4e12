// A few threads for calls that may wait for the store, so that no scheduler's thread has to.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace stagecall {

/// Calls are made in the order in which they were added, several at once. Those not begun when it
/// ends are dropped; those in progress are waited for, unless it ends from within one.
class RequestThreads {
 public:
  explicit RequestThreads(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.emplace_back([shared = shared_] { shared->run(); });
    }
  }
  ~RequestThreads() {
    shared_->end();
    for (std::thread& thread : threads_) {
      if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
      } else {
        thread.join();
      }
    }
  }
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  void add(std::function<void()> call) { shared_->add(std::move(call)); }

 private:
  class Shared {
   public:
    void add(std::function<void()> call) {
      const std::lock_guard lock{mutex_};
      calls_.push_back(std::move(call));
      changed_.notify_one();
    }
    void end() {
      std::deque<std::function<void()>> dropped;  // destroyed without the lock
      const std::lock_guard lock{mutex_};
      is_ended_ = true;
      dropped.swap(calls_);
      changed_.notify_all();
    }
    void run() {
      std::unique_lock lock{mutex_};
      while (true) {
        changed_.wait(lock, [this] { return is_ended_ || !calls_.empty(); });
        if (is_ended_) {
          return;
        }
        {
          const auto call = std::move(calls_.front());
          calls_.pop_front();
          lock.unlock();
          call();
        }  // without the lock: with it may go the last who has these threads
        lock.lock();
      }
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> calls_;  // bounded by the callers' unanswered requests
    bool is_ended_ = false;
  };

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();  // shared with the threads
  std::vector<std::thread> threads_;
};

}  // namespace stagecall
