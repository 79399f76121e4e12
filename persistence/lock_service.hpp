// What stands behind a LockService: connections to a lease store, each lent to one call at a time.
#pragma once

#include "persistence/lease_store.hpp"
#include "platform/system_clock.hpp"
#include "stagecall/locks.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace stagecall {

/// Thread-safe.
struct LockService::Shared {
 public:
  using Connect = std::function<Result<std::unique_ptr<LeaseStore>>()>;

  explicit Shared(Connect connect) : connect_(std::move(connect)) {}

  /// The answer of `call(store)`, or why there is no connection.
  template <class Call>
  auto ask(Call call) -> decltype(call(std::declval<LeaseStore&>())) {
    auto store = take();
    if (!store) {
      return tl::unexpected<Error>{std::move(store).error()};
    }
    auto answer = call(**store);
    give_back(std::move(*store));
    return answer;
  }

 private:
  Result<std::unique_ptr<LeaseStore>> take();
  void give_back(std::unique_ptr<LeaseStore> store);

  Connect connect_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<LeaseStore>> idle_;  // the last one that was used goes first
};

/// The clock of all locks.
const Clock& lock_clock();

}  // namespace stagecall
