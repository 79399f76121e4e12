// Which lease servers an engine may be opened with, and what it says while they are away.
#include "actors/log.hpp"
#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace stagecall::testing {
namespace {

/// Nothing listens on the port of the discard protocol.
const std::string kNobody = "redis://user:secret@127.0.0.1:9/0";

TEST_CASE_FIXTURE(EngineFixture, "lease servers that are none, no quorum or not ours are refused") {
  struct Refused {
    std::vector<std::string> leases;
    ErrorCode code;
    std::string allowed;
  };
  for (const Refused& refused :
       {Refused{{"redis:"}, ErrorCode::invalid_argument, "give redis://"},
        Refused{{"redis://a:1", "redis://b:1"}, ErrorCode::invalid_argument, "an odd number"},
        Refused{
            {"redis://a:1", "redis://b:1", "redis://a:1/0"}, ErrorCode::invalid_argument, "once"},
        Refused{{"rediss://a:1"}, ErrorCode::unsupported, "no TLS"}}) {
    auto wrong = options();
    wrong.leases = refused.leases;
    const auto engine = Engine::open(wrong);
    CHECK(code_of(engine) == refused.code);
    CHECK(engine.error().message.find(refused.allowed) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(wrong.store));
  }
  CHECK(code_of(Engine::open({.store = ":memory:", .leases = {kNobody}})) ==
        ErrorCode::invalid_argument);
}

TEST_CASE_FIXTURE(EngineFixture,
                  "L21: with its lease server away an engine opens, and a run says why it waits") {
  auto away = options();
  away.leases = {kNobody};
  away.lease_ttl = 1s;
  away.tick = 50ms;
  Engine engine = value(Engine::open(away));
  const RunId run = value(engine.start(waiting("p")));
  REQUIRE(eventually([&] { return !value(engine.status(run)).parked.empty(); }));
  const RunStatus status = value(engine.status(run));
  CHECK(status.state == RunState::running);
  CHECK(status.parked.find("127.0.0.1:9/0") != std::string::npos);
  CHECK(status.parked.find("secret") == std::string::npos);
  CHECK(engine.counters()["lock_manager.unavailable_now"] == 1);
  CHECK(value(engine.stop(run)));
  // Another authority beside it is refused.
  CHECK(code_of(Engine::open(options())) == ErrorCode::lease_authority);
}

TEST_CASE_FIXTURE(EngineFixture, "T9: two engines of one process share a store, but not a name") {
  auto named = options();
  named.replica = "one";
  const Engine first = value(Engine::open(named));
  CHECK(code_of(Engine::open(named)) == ErrorCode::invalid_argument);
  const Engine second = value(Engine::open(options()));
  const Engine third = value(Engine::open(options()));
}

TEST_CASE_FIXTURE(
    EngineFixture,
    "L17: 1,000 leases through an outage of a real Redis: all held again, few lines") {
  constexpr std::size_t runs = 1'000;
  std::ostringstream lines;
  stagecall::log().sinks().push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
  {
    RedisProcess redis;
    auto on_redis = options();
    on_redis.leases = {"redis://127.0.0.1:" + std::to_string(redis.port())};
    on_redis.durability = Durability::normal;
    on_redis.lease_ttl = 3s;
    on_redis.tick = 200ms;
    Engine engine = value(Engine::open(on_redis));
    for (std::size_t i = 0; i < runs; ++i) {
      value(engine.start(waiting("p" + std::to_string(i))));
    }
    const auto are_held = [&] {
      return engine.counters()["lock_manager.held"] == runs &&
             redis.ask({"DBSIZE"}) == std::to_string(runs);
    };
    const auto count_parked = [&] {
      const auto all = value(engine.runs());
      return std::count_if(all.begin(), all.end(),
                           [](const RunStatus& run) { return !run.parked.empty(); });
    };
    REQUIRE(eventually(are_held));
    redis.kill();
    REQUIRE(eventually([&] { return count_parked() == runs; }));
    redis.start();
    REQUIRE(eventually([&] { return are_held() && count_parked() == 0; }));
    for (const RunStatus& run : value(engine.runs())) {
      CHECK(run.state == RunState::running);
    }
  }
  stagecall::log().sinks().pop_back();
  const std::string text = lines.str();
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') < 100);
  CHECK(text.find("leases_available") != std::string::npos);
}

}  // namespace
}  // namespace stagecall::testing
