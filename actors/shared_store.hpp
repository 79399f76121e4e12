// One connection to the store for the threads that read it: status, outputs, histories. Beside the
// writer's, so that a read waits for no commit.
#pragma once

#include "persistence/store.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace stagecall {

class SharedStore {
 public:
  explicit SharedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  /// Calls `read` with the store while no other thread has it.
  template <class Read>
  auto with(Read read) {
    const std::lock_guard lock{mutex_};
    return read(*store_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Store> store_;
};

}  // namespace stagecall
