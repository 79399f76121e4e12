// What a Redis server does wrong: each is an error of its own, never "busy", and is over when the
// server is well again.
#include "tests/persistence/redis_fixtures.hpp"

#include <atomic>
#include <filesystem>
#include <thread>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

constexpr Duration kShortTtl{1'000};  // calls give up after a tenth of it

/// The call fails as unavailable, and says why.
void check_refused(const Result<std::vector<LeaseVerdict>>& verdicts, const std::string& reason) {
  CHECK(code_of(verdicts) == "lease_unavailable");
  CHECK_MESSAGE(contains(message_of(verdicts), reason), message_of(verdicts));
}

Result<std::vector<LeaseVerdict>> try_acquire(LeaseStore& store, const LeaseToken& token) {
  return store.acquire({{kRedisRun, token}}, kRedisTtl);
}

}  // namespace

TEST_CASE("L10: after SCRIPT FLUSH the scripts are loaded again, within the call") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().ask({"SCRIPT", "FLUSH"});
  CHECK(renew(*one, "t1") == "granted");
  leases.server().ask({"SCRIPT", "FLUSH"});
  CHECK(release(*one, "t1") == "granted");
  CHECK(leases.keys().empty());
}

TEST_CASE("L10: after a restart of the server the next call reconnects and finds its lease lost") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().restart();
  CHECK(renew(*one, "t1") == "lost");
  CHECK(acquire(*one, "t2") == "granted");
}

TEST_CASE("L10: FLUSHALL is seen at the next renewal, and there is one owner again") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  const auto two = leases.open(replica("two"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().ask({"FLUSHALL"});
  CHECK(acquire(*two, "t2") == "granted");
  CHECK(renew(*one, "t1") == "lost");
  CHECK(acquire(*one, "t3") == "busy");
  CHECK(holder(*one) == "two");
}

TEST_CASE("L11: a replica refuses as READONLY, and grants once it is promoted") {
  RedisLeases leases{1};
  const RedisProcess primary;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
  check_refused(try_acquire(*one, "t1"), "READONLY");
  leases.server().ask({"REPLICAOF", "NO", "ONE"});
  CHECK(acquire(*one, "t1") == "granted");
}

TEST_CASE("L11: a server that is out of memory refuses, and grants once it has some") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().ask({"CONFIG", "SET", "maxmemory", "1"});
  check_refused(one->acquire({{{"q", 1}, "t2"}}, kRedisTtl), "OOM");
  // What is held may still be renewed and released.
  CHECK(renew(*one, "t1") == "granted");
  CHECK(release(*one, "t1") == "granted");
  leases.server().ask({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(acquire(*one, "t3") == "granted");
}

TEST_CASE("L11: a server that cannot save refuses as MISCONF, and grants once it can") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  // A folder where the file must go.
  const std::string target = leases.server().folder() + "/dump.rdb/in the way";
  std::filesystem::create_directories(target);
  leases.server().ask({"CONFIG", "SET", "save", "3600 1000"});
  const auto has_saved = [&](const std::string& status) {
    leases.server().ask({"BGSAVE"});
    return eventually([&] {
      return contains(leases.server().ask({"INFO", "persistence"}),
                      "rdb_last_bgsave_status:" + status);
    });
  };
  REQUIRE(has_saved("err"));
  check_refused(try_acquire(*one, "t1"), "MISCONF");
  std::filesystem::remove_all(leases.server().folder() + "/dump.rdb");
  REQUIRE(has_saved("ok"));
  CHECK(acquire(*one, "t1") == "granted");
}

TEST_CASE("L11: a server that still loads its data refuses as LOADING, and grants afterwards") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  leases.server().ask({"EVAL", "for i = 1, 20000 do redis.call('SET', 'k' .. i, 'v') end", "0"});
  REQUIRE(leases.server().ask({"SAVE"}) == "OK");
  leases.server().restart(
      {"--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"});
  check_refused(try_acquire(*one, "t1"), "LOADING");
  leases.server().ask({"CONFIG", "SET", "key-load-delay", "0"});
  CHECK(eventually([&] { return acquire(*one, "t1") == "granted"; }));
}

TEST_CASE("L12: while a script does not end renewals fail, then the same token is renewed") {
  RedisLeases leases{1, {"--busy-reply-threshold", "10"}};
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  RedisShell shell{leases.server().port()};
  shell.write({"EVAL", "while true do end", "0"});
  REQUIRE(eventually([&] { return contains(leases.server().ask({"PING"}), "BUSY"); }));
  check_refused(one->renew({{kRedisRun, "t1"}}, kRedisTtl), "BUSY");
  CHECK(leases.server().ask({"SCRIPT", "KILL"}) == "OK");
  CHECK(eventually([&] { return renew(*one, "t1") == "granted"; }));
  CHECK(holder(*one) == "one");
}

TEST_CASE("L12: a server that stands still costs a tenth of the ttl, nothing is lost meanwhile") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1", Duration{60'000}) == "granted");
  leases.server().pause();
  const BootTime start = leases.clock.boot();
  check_refused(one->renew({{kRedisRun, "t1"}}, kShortTtl), "no answer within");
  check_refused(one->release({{kRedisRun, "t9"}}), "no answer within");
  const Duration taken = leases.clock.boot() - start;
  CHECK(taken >= kShortTtl / 10);
  CHECK(taken < Duration{10'000});
  leases.server().go_on();
  CHECK(eventually([&] { return renew(*one, "t1") == "granted"; }));
  CHECK(holder(*one) == "one");
}

TEST_CASE("L12: an acquisition that timed out is read back by its token, or undone for another") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  // Connected, and the script known: one message will do.
  CHECK(acquire(*one, "t0") == "granted");
  CHECK(release(*one, "t0") == "granted");
  leases.server().pause();
  check_refused(one->acquire({{kRedisRun, "t1"}}, kShortTtl), "no answer within");
  leases.server().go_on();
  // The server carries out what it had received.
  REQUIRE(eventually([&] { return leases.keys().size() == 1; }));

  SUBCASE("the same token again") {
    CHECK(acquire(*one, "t1") == "granted");
    CHECK(release(*one, "t1") == "granted");
  }
  SUBCASE("its renewal") {
    CHECK(renew(*one, "t1") == "granted");
    CHECK(release(*one, "t1") == "granted");
  }
  SUBCASE("another token") {
    CHECK(acquire(*one, "t2") == "granted");
    CHECK(renew(*one, "t1") == "lost");
    CHECK(release(*one, "t2") == "granted");
  }
  SUBCASE("another call") {
    CHECK(one->holders({kRedisRun}).value().at(0).incarnation.empty());
  }
  CHECK(leases.keys().empty());
}

TEST_CASE("a server that is gone is told apart, and works again once it is back") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().kill();
  check_refused(one->renew({{kRedisRun, "t1"}}, kRedisTtl), "Connection refused");
  CHECK(code_of(leases.try_open(replica("two"))) == "lease_unavailable");
  leases.server().start();
  CHECK(renew(*one, "t1") == "lost");
  CHECK(acquire(*one, "t2") == "granted");
}

TEST_CASE("L15: after CLIENT KILL it authenticates again, with a user and with a password alone") {
  RedisLeases leases{1, {"--requirepass", "first secret"}};
  leases.server().set_password("first secret");
  SUBCASE("password alone") {
    leases.password = "first secret";
  }
  SUBCASE("user and password") {
    leases.server().ask(
        {"ACL", "SETUSER", "anna", "on", ">second secret", "allcommands", "allkeys"});
    leases.user = "anna";
    leases.password = "second secret";
  }
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().ask({"CLIENT", "KILL", "TYPE", "normal"});
  CHECK(renew(*one, "t1") == "granted");
  CHECK(contains(leases.server().ask({"CLIENT", "LIST"}),
                 leases.user.empty() ? "user=default" : "user=anna"));
}

TEST_CASE("L15: a password that was changed is an error of its own, until it fits again") {
  RedisLeases leases{1, {"--requirepass", "old secret"}};
  leases.password = "old secret";
  leases.server().set_password("old secret");
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == "granted");
  leases.server().ask({"CONFIG", "SET", "requirepass", "new secret"});
  leases.server().set_password("new secret");
  leases.server().ask({"CLIENT", "KILL", "TYPE", "normal"});
  for (int i = 0; i < 2; ++i) {
    const auto refused = one->acquire({{kRedisRun, "t2"}}, kRedisTtl);
    check_refused(refused, "refuses the password: WRONGPASS");
    CHECK_FALSE(contains(message_of(refused), "secret"));
  }
  leases.server().ask({"CONFIG", "SET", "requirepass", "old secret"});
  CHECK(renew(*one, "t1") == "granted");
}

TEST_CASE("L15: a missing password is an error of its own, nothing is granted without it") {
  RedisLeases leases{1, {"--requirepass", "secret"}};
  leases.server().set_password("secret");
  const auto refused = leases.try_open(replica("one"));
  CHECK(code_of(refused) == "lease_unavailable");
  CHECK(contains(refused.error().message, "wants a password: NOAUTH"));
  leases.password = "secret";
  CHECK(acquire(*leases.open(replica("one")), "t1") == "granted");
}

TEST_CASE("X8: no error repeats a password or a token, even if the server does") {
  RedisLeases leases{1, {"--rename-command", "AUTH", "", "--rename-command", "EVALSHA", ""}};
  const auto one = leases.open(replica("one"));
  const auto without_scripts = try_acquire(*one, "token secret");
  check_refused(without_scripts, "unknown command 'EVALSHA'");
  CHECK_FALSE(contains(message_of(without_scripts), "secret"));
  leases.user = "user secret";
  leases.password = "password secret";
  const auto refused = leases.try_open(replica("two"));
  CHECK(code_of(refused) == "lease_unavailable");
  CHECK(contains(refused.error().message, "refuses the password: ERR"));
  CHECK_FALSE(contains(refused.error().message, "secret"));
}

TEST_CASE("a user that may not do it is told so") {
  RedisLeases leases;
  leases.server().ask({"ACL", "SETUSER", "bert", "on", ">pass", "+ping", "+client|setname"});
  leases.user = "bert";
  leases.password = "pass";
  check_refused(try_acquire(*leases.open(replica("one")), "t1"), "NOPERM");
}

TEST_CASE("a key that is no lease is told so, and one of somebody else is held") {
  RedisLeases leases;
  const auto one = leases.open(replica("one"));
  leases.server().ask({"RPUSH", "stagecall:{s}:lease:p/1", "a list"});
  check_refused(try_acquire(*one, "t1"), "WRONGTYPE");
  leases.server().ask({"DEL", "stagecall:{s}:lease:p/1"});
  leases.server().ask({"SET", "stagecall:{s}:lease:p/1", "somebody's own text", "PX", "60000"});
  CHECK(acquire(*one, "t1") == "busy");
  CHECK(holder(*one).empty());
}

TEST_CASE("L16: restarts of the server under load crash nobody, and each call ends") {
  RedisLeases leases;
  std::atomic<bool> is_over{false};
  std::atomic<int> granted{0};
  std::atomic<int> unavailable{0};
  std::atomic<int> unexpected{0};
  std::vector<std::unique_ptr<LeaseStore>> stores;
  for (int i = 0; i < 3; ++i) {
    stores.push_back(leases.open(replica(std::to_string(i))));
  }
  const auto load = [&](std::size_t who) {
    for (std::uint64_t i = 1; !is_over; ++i) {
      const std::vector<LeaseRequest> request{{{"load", i % 50 + 1}, std::to_string(who)}};
      for (const auto& verdicts :
           {stores[who]->acquire(request, kRedisTtl), stores[who]->renew(request, kRedisTtl),
            stores[who]->release(request)}) {
        const std::string verdict = verdict_of(verdicts);
        (verdict == "granted"             ? granted
         : verdict == "lease_unavailable" ? unavailable
                                          : unexpected) +=
            verdict == "busy" || verdict == "lost" ? 0 : 1;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < stores.size(); ++who) {
    threads.emplace_back(load, who);
  }
  for (int i = 0; i < 20; ++i) {
    const int before = granted;
    leases.server().kill();
    const int failures = unavailable;
    CHECK(eventually([&] { return unavailable > failures; }));
    leases.server().start();
    CHECK(eventually([&] { return granted > before; }));
  }
  is_over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(unexpected == 0);
  CHECK(unavailable >= 20);
  CHECK(acquire(*stores[0], "afterwards") == "granted");
}

TEST_CASE("L21: a store whose server is away opens if it may, and works once that is back") {
  RedisLeases leases;
  const auto options_with = [&](std::string& told) {
    auto options = leases.options(replica("one"));
    options.on_absence = [&told](const Error& error) { told = error.message; };
    return options;
  };
  std::string told;
  CHECK(open_redis_lease_store(options_with(told), leases.clock));
  CHECK(told.empty());
  leases.server().stop();
  const auto one = open_redis_lease_store(options_with(told), leases.clock);
  REQUIRE(one);
  CHECK(contains(told, "127.0.0.1:" + std::to_string(leases.server().port())));
  CHECK(acquire(**one, "t1") == "lease_unavailable");
  leases.server().start();
  CHECK(acquire(**one, "t1") == "granted");
}

TEST_CASE(
    "L15: a server that refuses us for good is an error at the opening, whatever may be away") {
  RedisLeases leases{1, {"--requirepass", "secret"}};
  auto options = leases.options(replica("one"));
  options.on_absence = [](const Error&) {};
  CHECK(code_of(open_redis_lease_store(options, leases.clock)) == "lease_unavailable");
  options.servers[0].password = "secret";
  options.servers[0].db = 99;
  const auto wrong_database = open_redis_lease_store(options, leases.clock);
  CHECK(code_of(wrong_database) == "lease_unavailable");
  CHECK(contains(wrong_database.error().message, "out of range"));
  options.servers[0].db = 0;
  CHECK(open_redis_lease_store(options, leases.clock));
}
