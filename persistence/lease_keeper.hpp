// Keeps one lease: renews it on a thread of its own, tells its holder when it is lost.
#pragma once

#include "persistence/lock_service.hpp"
#include "stagecall/locks.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace stagecall {

/// Thread-safe. Destroyed, it gives the lease back.
class Lease::Keeper {
 public:
  struct Grant {
    std::shared_ptr<LockService::Shared> service;  // outlives what is held there
    LeaseRequest request;
    Duration ttl;
    BootTime asked_at;  ///< of the request that was granted
    std::uint64_t number;
    Duration waited;
  };
  explicit Keeper(Grant grant);
  ~Keeper();

  const Grant& grant() const { return grant_; }
  std::stop_token stop_token() const { return lost_.get_token(); }
  Duration held() const;
  Result<void> release();

 private:
  void keep(std::stop_token end);
  /// What comes next and when; none: the lease is lost.
  std::optional<BootTime> renew();
  Result<void> give_back();

  const Grant grant_;
  BootTime until_;  // the keeper's thread; others once it has ended
  std::stop_source lost_;
  std::mutex releasing_;
  std::optional<Result<void>> released_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace stagecall
