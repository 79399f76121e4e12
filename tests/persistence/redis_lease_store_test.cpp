#include "platform/process.hpp"
#include "tests/persistence/redis_fixtures.hpp"

#include <map>
#include <random>
#include <set>

using namespace stagecall;
using namespace stagecall::testing;

TEST_CASE("L19: Redis leases keep the contract of acquisition") {
  check_acquire(RedisLeases{}.contract());
}
TEST_CASE("L19: Redis leases keep the contract of renewal and release") {
  check_renew_and_release(RedisLeases{}.contract());
}
TEST_CASE("L19: Redis leases keep the contract of expiry") {
  check_expiry(RedisLeases{}.contract());
}
TEST_CASE("L19: Redis leases keep the contract of batches") {
  check_batches(RedisLeases{}.contract());
}
TEST_CASE("L19: Redis leases keep the contract of keys") {
  check_keys(RedisLeases{}.contract());
}
TEST_CASE("L19: Redis leases keep the contract of numbers") {
  check_numbers(RedisLeases{}.contract());
}
TEST_CASE("L7: of increments under leases in Redis none is lost") {
  check_mutual_exclusion(RedisLeases{}.contract());
}
TEST_CASE("L1: on Redis one of 10 parallel callers wins, nine are told busy, afterwards free") {
  check_parallel_acquire(RedisLeases{}.contract());
}

TEST_CASE("L2: the value of a lease shows who, where and since when") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  const std::string value = leases.server().ask({"GET", "stagecall:{s}:lease:p/1"});
  const ProcessIdentity& self = this_process();
  CHECK(value.starts_with("token=t1 v=1 replica=replica-of-one incarnation=one host=" + self.host +
                          " boot=" + self.boot_id + " pid=" + std::to_string(self.pid) +
                          " start=" + std::to_string(self.start_time) + " since=20"));
  CHECK(value.ends_with("Z"));
  CHECK(contains(leases.server().ask({"CLIENT", "LIST"}), "name=stagecall:replica-of-one "));
}

TEST_CASE("L3: who does not know the token neither renews nor releases, nor does its beginning") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  CHECK(acquire(*one, "t1") == "granted");
  for (const std::string token : {"t2", "t", "t1 ", "", "t1%20"}) {
    CAPTURE(token);
    CHECK(release(*two, token) == "lost");
    CHECK(renew(*two, token) == "lost");
    CHECK(acquire(*two, token) == "busy");
  }
  CHECK(holder(*two) == "one");
  CHECK(renew(*one, "t1") == "granted");
}

TEST_CASE("L4: a lease that has ended is told lost at its release, and the next one stays") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.let_pass(kRedisTtl);
  CHECK(acquire(*two, "t2") == "granted");
  CHECK(release(*one, "t1") == "lost");
  CHECK(holder(*one) == "two");
}

TEST_CASE("L5: a renewal puts the ttl back") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.let_pass(Duration{10'000});
  CHECK(renew(*one, "t1") == "granted");
  CHECK(std::stol(leases.server().ask({"PTTL", leases.keys().at(0)})) > 10'000);
}

TEST_CASE("L9: no server, an even number, one named twice and an empty store id are refused") {
  RedisLeases leases{3};
  auto options = leases.options(replica("one"));
  const auto refused = [&](const RedisLeaseOptions& wrong, const std::string& part) {
    const auto store = open_redis_lease_store(wrong, leases.clock);
    CHECK(code_of(store) == "invalid_argument");
    CHECK(contains(store.error().message, part));
  };
  auto wrong = options;
  wrong.servers.clear();
  refused(wrong, "0 lease servers");
  wrong.servers = {options.servers[0], options.servers[1]};
  refused(wrong, "2 lease servers");
  wrong.servers = {options.servers[0], options.servers[1], options.servers[0]};
  refused(wrong, options.servers[0].name());
  wrong = options;
  wrong.store_id.clear();
  refused(wrong, "id");
}

TEST_CASE(
    "L13: after 10,000 random acquisitions and releases no key is left, none was without TTL") {
  RedisLeases leases;
  RedisShell monitor{leases.server().port()};
  monitor.write({"MONITOR"});
  REQUIRE(monitor.read() == "OK");

  const std::vector<std::unique_ptr<LeaseStore>> stores = [&] {
    std::vector<std::unique_ptr<LeaseStore>> opened;
    opened.push_back(leases.open(replica("0")));
    opened.push_back(leases.open(replica("1")));
    return opened;
  }();
  std::mt19937 random{20'261'130};
  std::map<std::uint64_t, std::size_t> holder_of;  // run: store
  std::size_t granted = 0;
  std::size_t wrong = 0;
  for (int i = 0; i < 10'000; ++i) {
    const RunId run{"random", random() % 20 + 1};
    const std::size_t who = random() % stores.size();
    const std::vector<LeaseRequest> request{{run, "t" + std::to_string(who)}};
    const auto held = holder_of.find(run.iteration);
    if (random() % 2 == 0) {
      const bool is_free = held == holder_of.end() || held->second == who;
      const auto verdict = verdict_of(stores[who]->acquire(request, kRedisTtl));
      wrong += verdict == (is_free ? "granted" : "busy") ? 0 : 1;
      granted += is_free ? 1 : 0;
      holder_of.try_emplace(run.iteration, who);
    } else {
      const bool is_ours = held != holder_of.end() && held->second == who;
      const auto verdict = verdict_of(stores[who]->release(request));
      wrong += verdict == (is_ours ? "granted" : "lost") ? 0 : 1;
      if (is_ours) {
        holder_of.erase(held);
      }
    }
  }
  for (const auto& [iteration, who] : holder_of) {
    CHECK(verdict_of(stores[who]->release({{{"random", iteration}, "t" + std::to_string(who)}})) ==
          "granted");
  }
  CHECK(wrong == 0);
  CHECK(granted > 1'000);
  CHECK(leases.server().ask({"DBSIZE"}) == "0");

  leases.server().ask({"ECHO", "the end"});
  std::size_t writes = 0;
  std::size_t without_ttl = 0;
  for (auto line = monitor.read(); line && !contains(*line, "the end"); line = monitor.read()) {
    const bool is_write = contains(*line, "lua] \"SET\"");
    writes += is_write ? 1 : 0;
    without_ttl += is_write && !contains(*line, "\"NX\" \"PX\" \"15000\"") ? 1 : 0;
    without_ttl += contains(*line, "\"PERSIST\"") ? 1 : 0;
  }
  CHECK(writes > 1'000);
  CHECK(without_ttl == 0);
}

TEST_CASE("L14: odd ids make exactly one key each, with those bytes") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  std::set<std::string> wanted;
  for (const std::string& id :
       {std::string{"100%"}, std::string{"%2F"}, std::string{"a b"}, std::string{"{x}"},
        std::string{"*?[a-z]"}, std::string{"a/1"}, std::string{"\xc3\xa4\xe2\x82\xac"},
        std::string{"\"quoted\""}, std::string(255, 'k')}) {
    CAPTURE(id);
    const std::vector<LeaseRequest> request{{{id, 7}, "t1"}};
    CHECK(verdict_of(one->acquire(request, kRedisTtl)) == "granted");
    CHECK(verdict_of(one->renew(request, kRedisTtl)) == "granted");
    CHECK(one->holders({{id, 7}}).value().at(0).incarnation == "one");
    wanted.insert("stagecall:{s}:lease:" + id + "/7");
  }
  const auto keys = leases.keys();
  CHECK(std::set<std::string>{keys.begin(), keys.end()} == wanted);
  CHECK(keys.size() == wanted.size());
}

TEST_CASE("a replica's name may hold any bytes") {
  RedisLeases leases;
  ReplicaIdentity odd = replica("odd");
  odd.replica = "a b=c%\n\xc3\xa4";
  const auto one = leases.open(odd);
  CHECK(acquire(*one, "t1") == "granted");
  CHECK(one->holders({kRedisRun}).value().at(0) == odd);
}

TEST_CASE("a batch larger than one script call has its verdicts in order") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  std::vector<LeaseRequest> all;
  std::vector<LeaseRequest> even;
  std::vector<RunId> runs;
  for (std::uint64_t i = 1; i <= 1'001; ++i) {
    all.push_back({{"many", i}, "t1"});
    runs.push_back({"many", i});
    if (i % 2 == 0) {
      even.push_back({{"many", i}, "t2"});
    }
  }
  CHECK(two->acquire(even, kRedisTtl).value() ==
        std::vector<LeaseVerdict>(even.size(), LeaseVerdict::granted));
  const auto verdicts = one->acquire(all, kRedisTtl).value();
  const auto holders = one->holders(runs).value();
  REQUIRE(verdicts.size() == all.size());
  REQUIRE(holders.size() == all.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_even = all[i].run.iteration % 2 == 0;
    wrong += verdicts[i] == (is_even ? LeaseVerdict::busy : LeaseVerdict::granted) ? 0 : 1;
    wrong += holders[i] == replica(is_even ? "two" : "one") ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a database is chosen before anything is asked, and one that is not there is refused") {
  RedisLeases leases;
  leases.db = 3;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  CHECK(leases.keys().empty());
  CHECK(contains(leases.server().ask({"INFO", "keyspace"}), "db3:keys=1,expires=1"));
  leases.db = 99;
  const auto refused = leases.try_open(replica("two"));
  CHECK(code_of(refused) == "lease_unavailable");
  CHECK(contains(refused.error().message, "out of range"));
}
