#include "tests/persistence/lease_contract.hpp"

#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>

namespace stagecall::testing {
namespace {

using Verdicts = std::vector<LeaseVerdict>;
constexpr Duration kTtl{15'000};
constexpr auto kGranted = LeaseVerdict::granted;
constexpr auto kBusy = LeaseVerdict::busy;
constexpr auto kLost = LeaseVerdict::lost;

const RunId kRun{"nightly build/%1 {}\xc3\xa4", 7};

struct Pair {
  explicit Pair(const LeaseContract& leases)
      : one(leases.connect(replica("one"))), two(leases.connect(replica("two"))) {}
  std::unique_ptr<LeaseStore> one;
  std::unique_ptr<LeaseStore> two;
  std::string holder(const RunId& run = kRun) const {
    return two->holders({run}).value().at(0).incarnation;
  }
};

LeaseVerdict acquire(LeaseStore& store, const LeaseToken& token) {
  return store.acquire({{kRun, token}}, kTtl).value().at(0);
}
LeaseVerdict renew(LeaseStore& store, const LeaseToken& token) {
  return store.renew({{kRun, token}}, kTtl).value().at(0);
}
LeaseVerdict release(LeaseStore& store, const LeaseToken& token) {
  return store.release({{kRun, token}}).value().at(0);
}

}  // namespace

void check_acquire(const LeaseContract& leases) {
  const Pair pair{leases};
  CHECK(pair.holder().empty());
  CHECK(acquire(*pair.one, "t1") == kGranted);
  CHECK(pair.two->holders({kRun}).value().at(0) == replica("one"));
  CHECK(acquire(*pair.two, "t2") == kBusy);
  // Another acquisition of the same replica is another one.
  CHECK(acquire(*pair.one, "t3") == kBusy);
  CHECK(acquire(*pair.one, "t1") == kGranted);
  CHECK(pair.holder({"nightly", 7}).empty());
}

void check_renew_and_release(const LeaseContract& leases) {
  const Pair pair{leases};
  CHECK(renew(*pair.one, "t1") == kLost);
  CHECK(release(*pair.one, "t1") == kLost);
  CHECK(acquire(*pair.one, "t1") == kGranted);
  CHECK(renew(*pair.one, "t1") == kGranted);
  // L3: who does not know the token gets nothing, and the owner's lease stays.
  CHECK(renew(*pair.two, "t2") == kLost);
  CHECK(release(*pair.two, "t2") == kLost);
  CHECK(pair.holder() == "one");
  CHECK(release(*pair.one, "t1") == kGranted);
  CHECK(release(*pair.one, "t1") == kLost);
  CHECK(pair.holder().empty());
  CHECK(acquire(*pair.two, "t2") == kGranted);
  CHECK(renew(*pair.one, "t1") == kLost);
}

void check_expiry(const LeaseContract& leases) {
  const Pair pair{leases};
  CHECK(acquire(*pair.one, "t1") == kGranted);
  leases.let_pass(kTtl - leases.exactness);
  CHECK(acquire(*pair.two, "t2") == kBusy);
  CHECK(renew(*pair.one, "t1") == kGranted);
  leases.let_pass(kTtl - leases.exactness);
  CHECK(acquire(*pair.one, "t1") == kGranted);
  leases.let_pass(kTtl - leases.exactness);
  CHECK(pair.holder() == "one");
  leases.let_pass(leases.exactness);
  CHECK(pair.holder().empty());
  CHECK(renew(*pair.one, "t1") == kLost);
  CHECK(release(*pair.one, "t1") == kLost);
  CHECK(acquire(*pair.two, "t2") == kGranted);
  CHECK(renew(*pair.one, "t1") == kLost);
  CHECK(pair.holder() == "two");
}

void check_batches(const LeaseContract& leases) {
  const Pair pair{leases};
  const RunId a{"a", 1};
  const RunId b{"b", 1};
  const RunId c{"c", 1};
  CHECK(pair.one->acquire({}, kTtl).value().empty());
  CHECK(pair.one->acquire({{a, "a1"}, {b, "b1"}}, kTtl).value() == Verdicts{kGranted, kGranted});
  CHECK(pair.two->acquire({{a, "a2"}, {c, "c2"}, {b, "b2"}}, kTtl).value() ==
        Verdicts{kBusy, kGranted, kBusy});
  CHECK(pair.one->renew({{c, "c1"}, {b, "b1"}}, kTtl).value() == Verdicts{kLost, kGranted});
  CHECK(pair.one->release({{b, "b1"}, {c, "c1"}}).value() == Verdicts{kGranted, kLost});
  const auto holders = pair.one->holders({c, b, a}).value();
  CHECK(holders == std::vector{replica("two"), ReplicaIdentity{}, replica("one")});
}

void check_keys(const LeaseContract& leases) {
  const Pair pair{leases};
  const std::vector<RunId> runs{{"a", 1},        {"a", 11},       {"a/1", 1},
                                {"a b", 1},      {"a%20b", 1},    {"{a}", 1},
                                {"a:b*?[c]", 1}, {"\xc3\xa4", 1}, {std::string(255, 'k'), 1}};
  std::vector<LeaseRequest> ours;
  std::vector<LeaseRequest> theirs;
  for (const RunId& run : runs) {
    ours.push_back({run, "of " + run.text()});
    theirs.push_back({run, "another"});
  }
  CHECK(pair.one->acquire(ours, kTtl).value() == Verdicts(runs.size(), kGranted));
  CHECK(pair.two->acquire(theirs, kTtl).value() == Verdicts(runs.size(), kBusy));
  CHECK(pair.two->holders(runs).value() ==
        std::vector<ReplicaIdentity>(runs.size(), replica("one")));
  CHECK(pair.one->release({ours[0]}).value() == Verdicts{kGranted});
  CHECK(pair.holder(runs[0]).empty());
  CHECK(pair.holder(runs[1]) == "one");
  CHECK(pair.holder(runs[2]) == "one");
}

void check_mutual_exclusion(const LeaseContract& leases) {
  constexpr int callers = 15;
  constexpr int increments = 250;
  // Of the lease alone: what is read and written is each atomic, the increment is not.
  std::atomic<int> counter = 0;
  std::atomic<int> increased = 0;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, name = std::to_string(i),
                          store = std::shared_ptr{leases.connect(replica(std::to_string(i)))}] {
      const LeaseRequest request{kRun, name};
      while (counter < increments && failures == 0) {
        const auto verdicts = store->acquire({request}, kTtl);
        if (!verdicts) {
          ++failures;
        } else if (verdicts->at(0) == kGranted) {
          const int before = counter;
          std::this_thread::yield();
          counter = before + 1;
          ++increased;
          const auto released = store->release({request});
          failures += released && released->at(0) == kGranted ? 0 : 1;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failures == 0);
  CHECK(counter == increased);
  CHECK(counter >= increments);
}

void check_numbers(const LeaseContract& leases) {
  const Pair pair{leases};
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 10; ++i) {
    numbers.push_back((i % 3 == 0 ? pair.two : pair.one)->draw_number().value());
  }
  CHECK(numbers.front() > 0);
  CHECK(std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>{}));
}

void check_parallel_acquire(const LeaseContract& leases) {
  constexpr std::size_t callers = 10;
  std::array<LeaseVerdict, callers> verdicts{};
  std::vector<std::unique_ptr<LeaseStore>> stores;
  for (std::size_t i = 0; i < callers; ++i) {
    stores.push_back(leases.connect(replica(std::to_string(i))));
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      const auto reply = stores[i]->acquire({{kRun, "t" + std::to_string(i)}}, Duration{600'000});
      verdicts[i] = reply ? reply->at(0) : kLost;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto winners = std::count(verdicts.begin(), verdicts.end(), kGranted);
  CHECK(winners <= 1);
  CHECK(winners >= (leases.has_always_a_winner ? 1 : 0));
  CHECK(winners + std::count(verdicts.begin(), verdicts.end(), kBusy) == callers);
  for (std::size_t i = 0; i < callers; ++i) {
    if (verdicts[i] == kGranted) {
      CHECK(release(*stores[i], "t" + std::to_string(i)) == kGranted);
    }
  }
  CHECK(acquire(*stores[0], "afterwards") == kGranted);
}

}  // namespace stagecall::testing
