// What a host sees inside its engine: a trace told to a sink of its own, and the actors that live.
#include "tests/engine/engine_fixture.hpp"
#include "tests/support/collecting_sink.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/gate.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

namespace stagecall::testing {
namespace {

class Stuck final : public TraceSink {
 public:
  void take(const std::vector<TraceEvent>&) override { gate.wait(); }
  Gate gate;
};

}  // namespace

TEST_CASE_FIXTURE(EngineFixture, "a trace of one run tells its attempts and none of another's") {
  const auto sink = std::make_shared<CollectingSink>();
  EngineOptions traced = options();
  traced.trace = {.sink = sink, .runs = {RunId{"p", 1}}};
  Engine engine = value(Engine::open(traced));
  for (const std::string name : {"p", "q"}) {
    CHECK(end_of(engine, value(engine.start(chain_of(name, "noop", {"a", "b"})))) ==
          RunState::succeeded);
  }
  // The end of a run is durable before its actor knows.
  CHECK(eventually([&] { return sink->all<TracedAttempt>().size() == 2; }));
  engine.trace({});
  const auto attempts = sink->all<TracedAttempt>();
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].node == "a");
  CHECK(attempts[1].node == "b");
  for (const TracedAttempt& attempt : attempts) {
    CHECK(attempt.run == RunId{"p", 1});
    CHECK(attempt.outcome == Outcome::succeeded());
    CHECK(attempt.is_local);
    CHECK(attempt.launched <= attempt.ended);
    CHECK(attempt.ended <= attempt.recorded);
  }
  std::set<std::string> runs;
  for (const TracedActor& actor : sink->all<TracedActor>()) {
    runs.insert(actor.run);
  }
  CHECK(runs == std::set<std::string>{"", "p/1"});
}

TEST_CASE_FIXTURE(EngineFixture, "a trace is switched on and off while an engine works") {
  Engine engine = open();
  const RunId before = value(engine.start(waiting("p")));
  const auto first = std::make_shared<CollectingSink>();
  engine.trace({.sink = first, .kinds = {"store"}});
  CHECK(value(engine.node_done(before, "go", 0, Outcome::succeeded())));
  CHECK(end_of(engine, before) == RunState::succeeded);
  CHECK(eventually([&] { return first->all<TracedAttempt>().size() == 1; }));
  const auto second = std::make_shared<CollectingSink>();
  engine.trace({.sink = second});
  const auto told = first->all<TracedMessage>().size();
  CHECK(end_of(engine, value(engine.start(chain_of("q", "noop", {"a"})))) == RunState::succeeded);
  CHECK(eventually([&] { return second->all<TracedAttempt>().size() == 1; }));
  engine.trace({});
  CHECK(end_of(engine, value(engine.start(chain_of("r", "noop", {"a"})))) == RunState::succeeded);

  CHECK(told > 0);
  CHECK(first->all<TracedMessage>().size() == told);
  CHECK(first->all<TracedActor>().size() == 1);
  const auto attempts = first->all<TracedAttempt>();
  REQUIRE(attempts.size() == 1);  // it ran before the trace began
  CHECK_FALSE(attempts.front().is_local);
  CHECK(attempts.front().launched <= attempts.front().ended);
  REQUIRE(second->all<TracedAttempt>().size() == 1);
  CHECK(second->all<TracedAttempt>().front().run == RunId{"q", 1});
}

TEST_CASE_FIXTURE(EngineFixture, "an engine whose sink stands still works and ends all the same") {
  const auto sink = std::make_shared<Stuck>();
  EngineOptions traced = options();
  traced.trace.sink = sink;
  auto engine = std::optional<Engine>{value(Engine::open(traced))};
  CHECK(end_of(*engine, value(engine->start(chain_of("p", "noop", {"a", "b"})))) ==
        RunState::succeeded);
  engine.reset();
  CHECK(sink.use_count() > 1);  // its thread is still in there
  sink->gate.open();
  CHECK(eventually([&] { return sink.use_count() == 2; }));  // this one, and the options above
}

TEST_CASE_FIXTURE(EngineFixture, "a host lists the actors of its engine") {
  Engine engine = open();
  const RunId run = value(engine.start(waiting("p")));
  REQUIRE(eventually([&] {
    const EngineInsight insight = engine.inspect();
    return insight.runs == 1 && insight.actors.back().run &&
           insight.actors.back().run->attempts == 1;
  }));
  const EngineInsight insight = engine.inspect();
  std::vector<std::string> kinds;
  for (const ActorInsight& actor : insight.actors) {
    CHECK_FALSE(actor.is_busy);
    CHECK(actor.handled > 0);
    kinds.push_back(actor.kind);
  }
  CHECK(kinds == std::vector<std::string>{"supervisor", "store", "lock_manager", "slot_broker",
                                          "custodian", "pipeline"});
  const ActorInsight::Run& held = *insight.actors.back().run;
  CHECK(held.run == run);
  CHECK(held.state == RunState::running);
  CHECK(held.term == Term{1});
  CHECK(held.next_tick <= 5s);
  CHECK(held.lease_left > 0s);
  CHECK(held.lease_left <= 15s);
}

}  // namespace stagecall::testing
