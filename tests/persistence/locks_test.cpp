// Locks of a host's own, on every lease store.
#include "stagecall/locks.hpp"

#include "tests/persistence/redis_fixtures.hpp"

#include <atomic>
#include <thread>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

constexpr Duration kTtl{1'000};
const LockOptions kOnce{.wait = LockWait::none(), .ttl = kTtl};
const LockOptions kForever{.wait = LockWait::forever(), .ttl = kTtl};

std::vector<std::string> urls_of(const RedisLeases& leases) {
  std::vector<std::string> urls;
  for (const auto& server : leases.servers) {
    urls.push_back("redis://127.0.0.1:" + std::to_string(server->port()));
  }
  return urls;
}

LockService redis_locks(const RedisLeases& leases) {
  return LockService::redis(urls_of(leases), "locks").value();
}

/// Calls `body` with a service of each kind.
void on_each_service(const std::function<void(const LockService&)>& body) {
  SUBCASE("memory") {
    body(LockService::memory());
  }
  SUBCASE("file") {
    const TempFolder folder;
    body(LockService::file(folder / "locks").value());
  }
  SUBCASE("Redis") {
    const RedisLeases leases;
    body(redis_locks(leases));
  }
  SUBCASE("a quorum") {
    const RedisLeases leases{3};
    body(redis_locks(leases));
  }
}

template <class... Arguments>
ExclusiveOptions<Arguments...> on(const LockService& service, const LockOptions& lock) {
  return {.key = [](const Arguments&...) { return std::string{"key"}; },
          .service = [service](const Arguments&...) { return Result<LockService>{service}; },
          .lock = lock};
}

}  // namespace

TEST_CASE("L19: a lock on any service has one holder, is free afterwards, and its numbers grow") {
  on_each_service([](const LockService& service) {
    std::uint64_t first = 0;
    {
      auto lease = acquire_lease(service, "key", kOnce);
      REQUIRE_MESSAGE(lease, (lease ? "" : lease.error().message));
      first = lease->number();
      CHECK(code_of(acquire_lease(service, "key", kOnce)) == "lease_busy");
      CHECK(acquire_lease(service, "another key", kOnce).has_value());
      CHECK_FALSE(lease->stop_token().stop_requested());
      CHECK(lease->release().has_value());
      CHECK(lease->release().has_value());
    }
    const auto again = acquire_lease(service, "key", kOnce);
    REQUIRE(again);
    CHECK(again->number() > first);
  });
}

TEST_CASE("L5: a lock is renewed while its holder works") {
  const RedisLeases leases;
  const LockService service = redis_locks(leases);
  const auto lease = acquire_lease(service, "key", kOnce);
  REQUIRE(lease);
  CHECK(eventually([&] { return lease->held() > kTtl + kTtl / 10; }));
  CHECK_FALSE(lease->stop_token().stop_requested());
  CHECK(code_of(acquire_lease(service, "key", kOnce)) == "lease_busy");
}

TEST_CASE("L5: a key that is deleted while held is told to the body, its caller gets lease_lost") {
  const RedisLeases leases;
  Duration told_after{0};
  const auto result = exclusive(on<>(redis_locks(leases), kOnce), [&](Lease& lease) {
    leases.servers[0]->ask({"DEL", "stagecall:{locks}:lease:key/0"});
    CHECK(eventually([&] { return lease.stop_token().stop_requested(); }));
    told_after = lease.held();
    return 7;
  });
  CHECK(code_of(result) == "lease_lost");
  CHECK(told_after < kTtl);
}

TEST_CASE("L5: when the servers are gone the body is told before the ttl has passed") {
  RedisLeases leases{3};
  const LockService service = redis_locks(leases);
  const auto result = exclusive(on<>(service, kOnce), [&](Lease& lease) {
    leases.server(0).kill();
    leases.server(1).pause();
    CHECK(eventually([&] { return lease.stop_token().stop_requested(); }));
    CHECK(lease.held() >= kTtl / 2);
  });
  CHECK(code_of(result) == "lease_lost");
  CHECK(code_of(acquire_lease(service, "key", kOnce)) == "lease_unavailable");
  leases.server(1).go_on();
}

TEST_CASE("L6: a body that throws releases at once, and the exception arrives") {
  on_each_service([](const LockService& service) {
    CHECK_THROWS_AS(static_cast<void>(exclusive(on<>(service, kOnce),
                                                []() -> int { throw std::runtime_error{"body"}; })),
                    std::runtime_error);
    CHECK(acquire_lease(service, "key", kOnce).has_value());
  });
}

TEST_CASE("L6: a caller that waits for ever may give up, and takes nothing") {
  on_each_service([](const LockService& service) {
    auto lease = acquire_lease(service, "key", kOnce);
    REQUIRE(lease);
    std::stop_source cancel;
    std::string code;
    std::thread waiting{[&] {
      code = code_of(
          acquire_lease(service, "key",
                        {.wait = LockWait::forever(), .ttl = kTtl, .cancel = cancel.get_token()}));
    }};
    cancel.request_stop();
    waiting.join();
    CHECK(code == "lease_busy");
    CHECK(lease->release().has_value());
    CHECK(acquire_lease(service, "key", kOnce).has_value());
  });
}

TEST_CASE("L7: of 250 increments under a lock, 15 at a time, none is lost") {
  on_each_service([](const LockService& service) {
    constexpr int increments = 250;
    std::atomic<int> counter{0};  // read and written, not increased
    std::atomic<int> begun{0};
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 15; ++i) {
      threads.emplace_back([&] {
        while (begun++ < increments) {
          const auto done = exclusive(on<>(service, kForever), [&] {
            const int before = counter;
            std::this_thread::yield();
            counter = before + 1;
          });
          failures += done ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(failures == 0);
    CHECK(counter == increments);
  });
}

TEST_CASE("L8: who waits not at all is refused at once, who waits for a while or ever gets it") {
  on_each_service([](const LockService& service) {
    auto lease = acquire_lease(service, "key", kOnce);
    REQUIRE(lease);
    const LockOptions bounded{.wait = LockWait::at_most(Duration{50}), .ttl = kTtl};
    const BootTime start = SystemClock{}.boot();
    CHECK(code_of(acquire_lease(service, "key", bounded)) == "lease_busy");
    CHECK(SystemClock{}.boot() - start >= Duration{50});
    for (const LockWait& wait : {LockWait::at_most(Duration{30'000}), LockWait::forever()}) {
      Result<Lease> next = fail(ErrorCode::internal, "not asked yet");
      std::thread waiting{
          [&] { next = acquire_lease(service, "key", {.wait = wait, .ttl = kTtl}); }};
      CHECK(lease->release().has_value());
      waiting.join();
      REQUIRE(next);
      lease = std::move(next);
    }
  });
}

TEST_CASE("L8: waits and times that make no sense are refused") {
  const LockService service = LockService::memory();
  for (const LockOptions& wrong :
       {LockOptions{.wait = LockWait::at_most(Duration{0})},
        LockOptions{.wait = LockWait::at_most(Duration{-1})}, LockOptions{.ttl = Duration{999}},
        LockOptions{.ttl = Duration{600'001}}}) {
    CHECK(code_of(acquire_lease(service, "key", wrong)) == "invalid_argument");
  }
  CHECK(code_of(exclusive_periodic({.service = service, .key = "key", .period = Duration{0}},
                                   [](Lease&) {})) == "invalid_argument");
  CHECK(code_of(LockService::redis({"http://h:1"}, "s")) == "invalid_argument");
  CHECK(code_of(LockService::redis({"redis://h:1", "redis://i:1"}, "s")) == "invalid_argument");
  CHECK(code_of(LockService::redis({"rediss://h:1"}, "s")) == "unsupported");
}

TEST_CASE("L9: key and service come from the arguments, an empty key or no builder is refused") {
  const LockService service = LockService::memory();
  std::vector<std::string> asked;
  ExclusiveOptions<std::string, int> options{
      .key = [](const std::string& name, const int&) { return name; },
      .service =
          [&](const std::string& name, const int& number) {
            asked.push_back(name + std::to_string(number));
            return Result<LockService>{service};
          },
      .lock = kOnce};
  const auto body = [&](Lease&, const std::string& name, int number) {
    CHECK(code_of(acquire_lease(service, name, kOnce)) == "lease_busy");
    return Result<std::string>{name + " " + std::to_string(number)};
  };
  CHECK(exclusive(options, body, std::string{"a"}, 1).value() == "a 1");
  CHECK(asked == std::vector<std::string>{"a1"});
  CHECK(code_of(exclusive(options, body, std::string{}, 1)) == "invalid_argument");
  CHECK(code_of(exclusive(options, body, std::string(256, 'k'), 1)) == "invalid_argument");
  options.service = [](const std::string&, const int&) -> Result<LockService> {
    return fail(ErrorCode::lease_unavailable, "nowhere");
  };
  CHECK(code_of(exclusive(options, body, std::string{"a"}, 1)) == "lease_unavailable");
  options.service = nullptr;
  CHECK(code_of(exclusive(options, body, std::string{"a"}, 1)) == "invalid_argument");
}

TEST_CASE("L20: of ten that lead in turns at most one does at a time") {
  on_each_service([](const LockService& service) {
    std::atomic<int> leading{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> rounds{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 10; ++i) {
      threads.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          try {
            static_cast<void>(exclusive_periodic({.service = service,
                                                  .key = "key",
                                                  .period = Duration{1},
                                                  .ttl = kTtl,
                                                  .stop = stop},
                                                 [&](Lease&) {
                                                   overlaps += ++leading > 1 ? 1 : 0;
                                                   std::this_thread::yield();
                                                   --leading;
                                                   if (++rounds % 3 == 0) {
                                                     throw std::runtime_error{
                                                         "lets another one lead"};
                                                   }
                                                 }));
          } catch (const std::runtime_error&) {}
        }
      });
    }
    CHECK(eventually([&] { return rounds > 60; }));
    threads.clear();
    CHECK(overlaps == 0);
    CHECK(acquire_lease(service, "key", kOnce).has_value());
  });
}

TEST_CASE("L20: a leader that is killed is followed by another within the ttl and a second") {
  const RedisLeases leases;
  const std::string key = "stagecall:{locks}:lease:key/0";
  const int child = start_child([urls = urls_of(leases)] {
    const auto service = LockService::redis(urls, "locks");
    return service && exclusive_periodic(
                          {.service = *service, .key = "key", .period = Duration{10}, .ttl = kTtl},
                          [](Lease&) {})
               ? 0
               : 1;
  });
  CHECK(eventually([&] { return leases.servers[0]->ask({"EXISTS", key}) == "1"; }));
  ::kill(child, SIGKILL);
  CHECK(wait_for_child(child) == -SIGKILL);
  const BootTime killed_at = leases.clock.boot();
  std::stop_source stop;
  const auto led = exclusive_periodic({.service = redis_locks(leases),
                                       .key = "key",
                                       .period = Duration{10},
                                       .ttl = kTtl,
                                       .stop = stop.get_token()},
                                      [&](Lease&) { stop.request_stop(); });
  CHECK(led.has_value());
  CHECK(leases.clock.boot() - killed_at < kTtl + Duration{1'000});
  CHECK(leases.keys() == std::vector<std::string>{"stagecall:{locks}:number"});
}
