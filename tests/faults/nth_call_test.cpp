// One call through a seam fails, the first, the second and so on, until a run has none left.
#include "tests/faults/shared_work.hpp"
#include "tests/persistence/fault_vfs.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

/// Longer than a lease: who waited so long for an answer has lost all trust.
constexpr Duration kLate{20'000};

/// `strike(work, n)` arranges that the n-th call fails, and gives what says whether it did.
template <class Strike>
void at_every_call(Strike strike) {
  std::size_t calls = 0;
  for (std::size_t n = 1;; ++n) {
    CAPTURE(n);
    SharedWork work;
    const auto was_struck = strike(work, n);
    CHECK(work.faults() == "");
    if (!was_struck()) {
      break;
    }
    calls = n;
  }
  MESSAGE(calls << " calls, each struck once");
  CHECK(calls > 3);
}

void at_every_store_call(FaultyStore::Fault fault, bool writes_only) {
  at_every_call([=](SharedWork& work, std::size_t n) {
    auto nth = std::make_shared<NthCall>(NthCall{.at = n});
    for (std::size_t i = 0; i < 2; ++i) {
      work.world.replica(i).store->on_call = [=](bool is_write) {
        const bool is_struck = (is_write || !writes_only) && nth->strikes();
        return is_struck ? fault : FaultyStore::Fault::none;
      };
    }
    return [nth] { return nth->calls >= nth->at; };
  });
}

void at_every_lease_call(FaultyLeases::Fault fault) {
  at_every_call([=](SharedWork& work, std::size_t n) {
    auto nth = std::make_shared<NthCall>(NthCall{.at = n});
    for (std::size_t i = 0; i < 2; ++i) {
      auto& leases = *work.world.replica(i).leases;
      leases.on_call = [=] { return nth->strikes() ? fault : FaultyLeases::Fault::none; };
      leases.on_late = [&work] { work.world.stand_still(kLate); };
    }
    return [nth] { return nth->calls >= nth->at; };
  });
}

void at_every_executor_call(bool after_its_work) {
  at_every_call([=](SharedWork& work, std::size_t n) {
    auto nth = std::make_shared<NthCall>(NthCall{.at = n});
    for (std::size_t i = 0; i < 2; ++i) {
      work.world.replica(i).executor.on_call = [=](bool is_done) {
        if (is_done == after_its_work && nth->strikes()) {
          throw std::runtime_error{"scripted fault"};
        }
      };
    }
    return [nth] { return nth->calls >= nth->at; };
  });
}

void at_every_log_write(FaultAt at) {
  std::size_t calls = 0;
  for (int n = 0;; ++n) {
    CAPTURE(n);
    SharedWork work{{.path = {}, .durability = Durability::full, .vfs = fault_vfs()}};
    set_fault(at, n);
    CHECK(work.faults() == "");
    const bool was_struck = faults_hit() > 0;
    set_fault(FaultAt::none);
    if (!was_struck) {
      break;
    }
    ++calls;
  }
  MESSAGE(calls << " calls, each struck once");
  CHECK(calls > 3);
}

}  // namespace

TEST_CASE("T11: no fault: the workload ends as it should") {
  SharedWork work;
  CHECK(work.faults() == "");
}

TEST_CASE("T11: the store is unavailable at any one call") {
  at_every_store_call(FaultyStore::Fault::unavailable, false);
}

TEST_CASE("T11: any one commit is in doubt and was not written") {
  at_every_store_call(FaultyStore::Fault::lost_in_doubt, true);
}

TEST_CASE("T11: any one commit is in doubt and was written") {
  at_every_store_call(FaultyStore::Fault::written_in_doubt, true);
}

TEST_CASE("T11: the lease store refuses any one call") {
  at_every_lease_call(FaultyLeases::Fault::refused);
}

TEST_CASE("T11: the answer of any one call to the lease store is lost") {
  at_every_lease_call(FaultyLeases::Fault::deaf);
}

TEST_CASE("T11: the answer of any one call to the lease store comes after its ttl") {
  at_every_lease_call(FaultyLeases::Fault::late);
}

TEST_CASE("T11: an executor throws at any one call, before it has done anything") {
  at_every_executor_call(false);
}

TEST_CASE("T11: an executor throws at any one call, after it has done all") {
  at_every_executor_call(true);
}

TEST_CASE("T11: any one write to the log of the store's file fails") {
  at_every_log_write(FaultAt::write);
}

TEST_CASE("T11: the disk is full at any one write to the log of the store's file") {
  at_every_log_write(FaultAt::write_full);
}

TEST_CASE("T11: any one sync of the log of the store's file fails") {
  at_every_log_write(FaultAt::sync);
}
