// What every lease store must do. One suite for all implementations of the seam.
#pragma once

#include "persistence/lease_store.hpp"

#include <functional>
#include <memory>

namespace stagecall::testing {

struct LeaseContract {
  /// Opens one more connection, for this holder, to the same leases; none are held at first.
  std::function<std::unique_ptr<LeaseStore>(const ReplicaIdentity&)> connect;
  /// Lets time pass for all of them.
  std::function<void(Duration)> let_pass;
  /// How exactly: within this time before its end a lease may or may not have ended.
  Duration exactness{1};
  /// Of several that ask at once one wins; else it may be that none does.
  bool has_always_a_winner = true;
};

void check_acquire(const LeaseContract& leases);
void check_renew_and_release(const LeaseContract& leases);
void check_expiry(const LeaseContract& leases);
void check_batches(const LeaseContract& leases);
/// L14: any bytes make a key of their own.
void check_keys(const LeaseContract& leases);
/// L7: 250 increments under a lease, by 15 callers at once: none lost.
void check_mutual_exclusion(const LeaseContract& leases);
/// Each number is larger than all before, whoever draws it.
void check_numbers(const LeaseContract& leases);
/// L1: one of ten parallel callers wins, the others are told busy; afterwards free.
void check_parallel_acquire(const LeaseContract& leases);

}  // namespace stagecall::testing
