// Leases on five independent Redis servers.
#include "tests/persistence/redis_fixtures.hpp"

#include <array>
#include <thread>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

constexpr std::size_t kServers = 5;

/// How many servers hold the lease of the run.
std::size_t copies(const RedisLeases& leases) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kServers; ++i) {
    count += leases.keys(i).size();
  }
  return count;
}

}  // namespace

TEST_CASE("L19: a quorum keeps the contract of acquisition") {
  check_acquire(RedisLeases{kServers}.contract());
}
TEST_CASE("L19: a quorum keeps the contract of renewal and release") {
  check_renew_and_release(RedisLeases{kServers}.contract());
}
TEST_CASE("L19: a quorum keeps the contract of expiry") {
  check_expiry(RedisLeases{kServers}.contract());
}
TEST_CASE("L19: a quorum keeps the contract of batches") {
  check_batches(RedisLeases{kServers}.contract());
}
TEST_CASE("L19: a quorum keeps the contract of keys") {
  check_keys(RedisLeases{kServers}.contract());
}
TEST_CASE("L19: a quorum keeps the contract of numbers") {
  check_numbers(RedisLeases{kServers}.contract());
}
TEST_CASE("L7: of increments under leases of a quorum none is lost") {
  check_mutual_exclusion(RedisLeases{kServers}.contract());
}
TEST_CASE("L18: of 10 that ask a quorum at once none or one wins, and the losers leave nothing") {
  RedisLeases leases{kServers};
  check_parallel_acquire(leases.contract());
  CHECK(copies(leases) == kServers);  // those of the one that came afterwards
}

TEST_CASE("L18: 1 to 10 contenders on a quorum have at most one winner, and free it for the next") {
  RedisLeases leases{kServers};
  std::vector<std::unique_ptr<LeaseStore>> stores;
  for (std::size_t contenders = 1; contenders <= 10; ++contenders) {
    CAPTURE(contenders);
    stores.push_back(leases.open(replica(std::to_string(contenders))));
    std::vector<std::string> verdicts(contenders);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < contenders; ++i) {
      threads.emplace_back([&, i] { verdicts[i] = acquire(*stores[i], std::to_string(i)); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    const auto winners = std::count(verdicts.begin(), verdicts.end(), "granted");
    CHECK(winners <= 1);
    CHECK(winners + std::count(verdicts.begin(), verdicts.end(), "busy") ==
          static_cast<std::ptrdiff_t>(contenders));
    for (std::size_t i = 0; i < contenders; ++i) {
      if (verdicts[i] == "granted") {
        CHECK(copies(leases) >= 3);
        CHECK(release(*stores[i], std::to_string(i)) == "granted");
      }
    }
    CHECK(copies(leases) == 0);
  }
}

TEST_CASE("L18: with 2 of 5 servers gone a quorum works, and takes them back") {
  RedisLeases leases{kServers};
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server(0).kill();
  leases.server(4).kill();
  CHECK(renew(*one, "t1") == "granted");
  CHECK(acquire(*two, "t2") == "busy");
  CHECK(holder(*two) == "one");
  CHECK(release(*one, "t1") == "granted");
  CHECK(acquire(*two, "t2") == "granted");
  CHECK(leases.try_open(replica("three")).has_value());
  leases.server(0).start();
  leases.server(4).start();
  CHECK(renew(*two, "t2") == "granted");
  CHECK(release(*two, "t2") == "granted");
  CHECK(acquire(*one, "t3") == "granted");
  CHECK(leases.keys(0).size() + leases.keys(4).size() == 2);
}

TEST_CASE("L18: with 2 of 5 servers standing still a quorum waits little for them") {
  RedisLeases leases{kServers};
  const auto one = leases.open(replica("one"));
  leases.server(1).pause();
  leases.server(2).pause();
  const BootTime start = leases.clock.boot();
  CHECK(acquire(*one, "t1", Duration{60'000}) == "granted");
  CHECK(leases.clock.boot() - start < Duration{4'000});  // the answers are due in 4.8 s
  leases.server(1).go_on();
  leases.server(2).go_on();
  CHECK(release(*one, "t1") == "granted");
}

TEST_CASE("L18: with 3 of 5 servers gone a quorum refuses, names them and leaves nothing behind") {
  RedisLeases leases{kServers};
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  CHECK(acquire(*two, "t2") == "granted");
  for (const std::size_t gone : {0, 1, 2}) {
    leases.server(gone).kill();
  }
  const auto refused = one->acquire({{{"q", 1}, "t1"}}, kRedisTtl);
  CHECK(code_of(refused) == "lease_unavailable");
  CHECK(contains(message_of(refused), "2 of 5 servers answered, 3 are needed"));
  for (const std::size_t gone : {0, 1, 2}) {
    CHECK(contains(message_of(refused),
                   "127.0.0.1:" + std::to_string(leases.server(gone).port()) + "/0"));
  }
  CHECK(leases.keys(3) == std::vector<std::string>{"stagecall:{s}:lease:p/1"});
  CHECK(leases.keys(4) == std::vector<std::string>{"stagecall:{s}:lease:p/1"});
  CHECK(renew(*two, "t2") == "lease_unavailable");
  CHECK(code_of(two->holders({kRedisRun})) == "lease_unavailable");
  CHECK(code_of(leases.try_open(replica("three"))) == "lease_unavailable");
  // Two copies are no lease any more once the others are back without theirs.
  for (const std::size_t gone : {0, 1, 2}) {
    leases.server(gone).start();
  }
  CHECK(holder(*one).empty());
  CHECK(renew(*two, "t2") == "lost");
  CHECK(copies(leases) == 0);
  CHECK(acquire(*one, "t3") == "granted");
}

TEST_CASE("L18: what a quorum could not undo on a server that stood still it undoes later") {
  RedisLeases leases{kServers};
  const auto one = leases.open(replica("one"));
  for (const std::size_t still : {0, 1, 2}) {
    leases.server(still).pause();
  }
  CHECK(acquire(*one, "t1", Duration{1'000}) == "lease_unavailable");
  CHECK(leases.keys(3).empty());
  for (const std::size_t still : {0, 1, 2}) {
    leases.server(still).go_on();
  }
  const auto two = leases.open(replica("two"));
  CHECK(eventually([&] { return holder(*one).empty() && copies(leases) == 0; }));
  CHECK(acquire(*two, "t2") == "granted");
}

TEST_CASE("numbers of a quorum grow though some servers are gone, are back or have forgotten") {
  RedisLeases leases{kServers};
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  // One server is far ahead: what it drew counts only once a majority remembers it.
  leases.server(0).ask({"SET", "stagecall:{s}:number", "4000000000000000"});
  std::uint64_t last = one->draw_number().value();
  CHECK(last == 4'000'000'000'000'001);
  leases.server(0).kill();
  for (std::size_t gone = 1; gone < kServers; ++gone) {
    CAPTURE(gone);
    leases.server(gone).kill();
    const std::uint64_t next = two->draw_number().value();
    CHECK(next > last);
    last = next;
    leases.server(gone).start();  // empty
    CHECK(one->draw_number().value() > last);
    last = one->draw_number().value();
  }
  leases.server(1).kill();
  leases.server(2).kill();
  CHECK(code_of(one->draw_number()) == "lease_unavailable");
  CHECK(std::stoll(leases.server(3).ask({"PTTL", "stagecall:{s}:number"})) > 0);
}

TEST_CASE("a wrong password on one of five servers costs that one, and shows when it matters") {
  RedisLeases leases{kServers};
  const auto one = leases.open(replica("one"));
  for (const std::size_t changed : {0, 1, 2}) {
    CHECK(acquire(*one, "t1") == "granted");
    leases.server(changed).ask({"CONFIG", "SET", "requirepass", "changed"});
    leases.server(changed).set_password("changed");
    leases.server(changed).ask({"CLIENT", "KILL", "TYPE", "normal"});
  }
  const auto refused = one->acquire({{kRedisRun, "t1"}}, kRedisTtl);
  CHECK(code_of(refused) == "lease_unavailable");
  CHECK(contains(message_of(refused), "wants a password"));
}
