#include "persistence/memory_lease_store.hpp"

#include "tests/persistence/lease_contract.hpp"
#include "tests/persistence/set_clock.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

struct Leases {
  SetClock clock;
  std::shared_ptr<MemoryLeases> shared = make_memory_leases();
  LeaseContract contract{.connect =
                             [this](const ReplicaIdentity& holder) {
                               return open_memory_lease_store(shared, holder, clock);
                             },
                         .let_pass = [this](Duration time) { clock.now += time.count(); }};
};

}  // namespace

TEST_CASE("L19: leases in memory keep the contract of acquisition") {
  check_acquire(Leases{}.contract);
}
TEST_CASE("L19: leases in memory keep the contract of renewal and release") {
  check_renew_and_release(Leases{}.contract);
}
TEST_CASE("L19: leases in memory keep the contract of expiry") {
  check_expiry(Leases{}.contract);
}
TEST_CASE("L19: leases in memory keep the contract of batches") {
  check_batches(Leases{}.contract);
}
TEST_CASE("L19: leases in memory keep the contract of keys") {
  check_keys(Leases{}.contract);
}
TEST_CASE("L19: leases in memory keep the contract of numbers") {
  check_numbers(Leases{}.contract);
}
TEST_CASE("L1: of 10 parallel callers in one process one wins, nine are told busy") {
  check_parallel_acquire(Leases{}.contract);
}
TEST_CASE("L7: of increments under leases in memory none is lost") {
  check_mutual_exclusion(Leases{}.contract);
}
