// What a trace costs while it is off, tells while it is on, and loses when its sink is slow.
#include "actors/slot_broker.hpp"
#include "messages/limits.hpp"
#include "tests/support/collecting_sink.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/gate.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>

namespace stagecall::testing {
namespace {

/// One actor in a system whose trace can be switched.
struct Stage {
  TracedSystemConfig config;
  caf::actor_system system{config};
  SlotBrokerHandle actor = system.spawn<SlotBroker>(4U);

  ~Stage() { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); }

  ActorInsight ask() {
    const caf::scoped_actor self{system};
    ActorInsight insight;
    self->request(actor, caf::infinite, Describe{})
        .receive([&](ActorInsight& answer) { insight = std::move(answer); },
                 [](const caf::error&) {});
    return insight;
  }
  void send(int times) {
    for (int i = 0; i < times; ++i) {
      caf::anon_send(actor, Describe{});
    }
  }
};

std::uint64_t lost_of(CollectingSink& sink) {
  std::uint64_t lost = 0;
  for (const TracedLoss& loss : sink.all<TracedLoss>()) {
    lost += loss.events;
  }
  return lost;
}

}  // namespace

TEST_CASE("without a trace no thread gets a ring, with one the actor's thread does") {
  Stage stage;
  for (int i = 0; i < 100; ++i) {
    stage.ask();
  }
  CHECK(stage.config.tracer.rings() == 0);
  const auto sink = std::make_shared<CollectingSink>();
  stage.config.tracer.start({.sink = sink}, {"a", 1});
  stage.ask();
  CHECK(stage.config.tracer.rings() >= 1);
  stage.config.tracer.stop();
  CHECK(stage.config.tracer.rings() == 0);
}

TEST_CASE("a trace tells who it is of, each actor once, and each message with its times") {
  Stage stage;
  const auto sink = std::make_shared<CollectingSink>();
  stage.ask();
  stage.config.tracer.start({.sink = sink}, {"a", 17});
  stage.ask();
  stage.ask();
  // An answer is out before its handling is over.
  CHECK(eventually([&] { return sink->all<TracedMessage>().size() == 2; }));
  stage.config.tracer.stop();
  stage.ask();
  REQUIRE(sink->all<TracedEngine>().size() == 1);
  CHECK(sink->all<TracedEngine>().front().replica == "a");
  CHECK(sink->all<TracedEngine>().front().pid == 17);
  const auto actors = sink->all<TracedActor>();
  REQUIRE(actors.size() == 1);
  CHECK(actors.front().kind == "slot_broker");
  const auto messages = sink->all<TracedMessage>();
  REQUIRE(messages.size() == 2);
  TraceTime before{};
  for (const TracedMessage& message : messages) {
    CHECK(message.receiver == actors.front().actor);
    CHECK(message.kind == "Describe");
    CHECK(message.outcome == MessageOutcome::handled);
    CHECK(message.cause == ActorNumber{});
    CHECK(before <= message.enqueued);
    CHECK(message.enqueued <= message.started);
    CHECK(message.started <= message.ended);
    before = message.started;  // its answer, which the next one follows, comes before its end
  }
}

TEST_CASE("a trace of other kinds of actors tells nothing of this one") {
  Stage stage;
  const auto sink = std::make_shared<CollectingSink>();
  stage.config.tracer.start({.sink = sink, .kinds = {"store"}}, {"a", 1});
  stage.ask();
  stage.config.tracer.stop();
  CHECK(sink->all<TracedMessage>().empty());
  CHECK(sink->all<TracedActor>().empty());
}

TEST_CASE("a sink that stands still delays no actor, and what finds no room is counted") {
  class Slow final : public CollectingSink {
   public:
    void take(const std::vector<TraceEvent>& events) override {
      gate.wait();
      CollectingSink::take(events);
    }
    Gate gate;
  };
  Stage stage;
  const auto sink = std::make_shared<Slow>();
  stage.config.tracer.start({.sink = sink}, {"a", 1});
  const int sent = 3 * static_cast<int>(kLimits.trace_ring_events);
  stage.send(sent);
  CHECK(stage.ask().handled == static_cast<std::uint64_t>(sent) + 1);
  sink->gate.open();
  const std::size_t all = static_cast<std::size_t>(sent) + 2;  // the question, the actor
  CHECK(eventually([&] {
    const std::size_t told = sink->all<TracedMessage>().size() + sink->all<TracedActor>().size();
    return told + lost_of(*sink) == all;
  }));
  CHECK(lost_of(*sink) > 0);
}

TEST_CASE("a sink that throws is not called again, and the actors go on") {
  class Throwing final : public TraceSink {
   public:
    void take(const std::vector<TraceEvent>&) override {
      ++calls;
      throw std::runtime_error{"no"};
    }
    std::atomic<int> calls = 0;
  };
  Stage stage;
  const auto sink = std::make_shared<Throwing>();
  stage.config.tracer.start({.sink = sink}, {"a", 1});
  CHECK(eventually([&] { return sink->calls == 1; }));
  CHECK(stage.ask().kind == "slot_broker");
  stage.config.tracer.stop();
  CHECK(sink->calls == 1);
}

TEST_CASE("an actor says what it is, how much it has handled and how much waits") {
  Stage stage;
  stage.send(3);
  const ActorInsight insight = stage.ask();
  CHECK(insight.kind == "slot_broker");
  CHECK(insight.handled == 4);
  CHECK(insight.waiting == 0);
  CHECK(insight.counters.at("free") == 4);
  CHECK_FALSE(insight.run.has_value());
}

}  // namespace stagecall::testing
