// The engine behind an actor of the host's system: messages, and every order of ending.
#include "stagecall/caf.hpp"
#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <optional>

namespace stagecall::testing {
namespace {

/// What the engine's actor answers.
template <class T, class Request>
Result<T> ask(caf::actor_system& system, const host::EngineActor& engine, Request request) {
  const caf::scoped_actor self{system};
  Result<T> result = fail(ErrorCode::internal, "the engine's actor did not answer");
  self->request(engine, caf::infinite, std::move(request))
      .receive([&result](host::Answer<T>& answer) { result = std::move(answer.result); },
               [](const caf::error&) {});
  return result;
}

struct HostSystem {
  caf::actor_system_config config;
  std::optional<caf::actor_system> system{std::in_place, config};
};

/// A subscriber that ends with the first run that does.
caf::behavior wait_for_end(caf::event_based_actor* self, std::atomic<bool>* has_ended) {
  return {[self, has_ended](const RunEvent& event) {
    if (event.kind == "run_ended") {
      *has_ended = true;
      self->quit();
    }
  }};
}

host::EngineActor spawn(HostSystem& host) {
  return value(host::spawn_engine(*host.system, {.store = ":memory:"}));
}

}  // namespace

TEST_CASE("a host starts, reports, stops and asks by messages") {
  HostSystem host;
  const auto engine = spawn(host);
  const StartedRun started =
      value(ask<StartedRun>(*host.system, engine, host::Start{waiting("p"), {}}));
  CHECK(started.created);
  CHECK(value(ask<RunStatus>(*host.system, engine, host::StatusOf{started.run})).state ==
        RunState::running);
  CHECK(value(ask<bool>(*host.system, engine,
                        host::NodeDone{started.run, "go", 1, Outcome::succeeded(), {}})));
  CHECK(eventually([&] {
    return value(ask<RunStatus>(*host.system, engine, host::StatusOf{started.run})).state ==
           RunState::succeeded;
  }));
  CHECK_FALSE(value(ask<bool>(*host.system, engine, host::Stop{started.run})));
  CHECK(code_of(ask<bool>(*host.system, engine, host::Stop{{"p", 7}})) == ErrorCode::not_found);
}

TEST_CASE("an actor subscribes, is told of a run's end, and its subscription ends with it") {
  HostSystem host;
  const auto engine = spawn(host);
  std::atomic<bool> has_ended = false;
  const caf::actor subscriber = host.system->spawn(wait_for_end, &has_ended);
  value(ask<host::Subscribed>(*host.system, engine, host::Subscribe{{}, subscriber}));
  value(ask<StartedRun>(*host.system, engine, host::Start{chain_of("p", "noop", {"a"}), {}}));
  CHECK(eventually([&] { return has_ended.load(); }));
  CHECK(value(ask<StartedRun>(*host.system, engine, host::Start{chain_of("p", "noop", {"a"}), {}}))
            .run == RunId{"p", 2});
}

TEST_CASE("E5: an unknown message ends neither the engine's actor nor who sent it") {
  HostSystem host;
  const auto engine = spawn(host);
  const caf::scoped_actor self{*host.system};
  bool was_refused = false;
  self->request(caf::actor_cast<caf::actor>(engine), caf::infinite, std::string{"hello"})
      .receive([](const std::string&) {}, [&](const caf::error&) { was_refused = true; });
  CHECK(was_refused);
  CHECK(value(ask<StartedRun>(*host.system, engine, host::Start{waiting("p"), {}})).created);
}

TEST_CASE("the end comes in any order: exit, the last handle, the system, the engine") {
  for (int round = 0; round < 5; ++round) {
    {
      HostSystem host;
      const auto engine = spawn(host);
      caf::anon_send_exit(engine, caf::exit_reason::user_shutdown);
      host.system.reset();
    }
    {
      HostSystem host;
      value(ask<StartedRun>(*host.system, spawn(host), host::Start{waiting("p"), {}}));
      host.system.reset();
    }
    {
      HostSystem host;
      auto engine = std::optional{spawn(host)};
      value(ask<StartedRun>(*host.system, *engine, host::Start{waiting("p"), {}}));
      engine.reset();
      host.system.reset();
    }
    {
      const auto engine = std::make_shared<Engine>(value(Engine::open({.store = ":memory:"})));
      HostSystem host;
      const RunId run =
          value(ask<StartedRun>(*host.system, host::spawn_engine(*host.system, engine),
                                host::Start{waiting("p"), {}}))
              .run;
      host.system.reset();
      CHECK(value(engine->status(run)).state == RunState::running);
    }
  }
}

TEST_CASE("who asks while the engine's actor ends is answered all the same") {
  HostSystem host;
  const auto engine = spawn(host);
  const caf::scoped_actor self{*host.system};
  int answers = 0;
  int refusals = 0;
  for (int i = 0; i < 100; ++i) {
    self->send(engine, host::Start{waiting("p"), {}});
  }
  auto last = self->request(engine, 60s, host::Start{waiting("p"), {}});
  caf::anon_send_exit(engine, caf::exit_reason::kill);
  last.receive(
      [&](const host::Answer<StartedRun>&) { ++answers; },
      [&](const caf::error& error) { refusals += error == caf::sec::request_timeout ? 0 : 1; });
  CHECK(answers + refusals == 1);
}

TEST_CASE("the host's system may end while requests are under way") {
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> has_ended = false;
    HostSystem host;
    {
      const auto engine = spawn(host);
      const auto subscriber = host.system->spawn(wait_for_end, &has_ended);
      caf::anon_send(engine, host::Subscribe{{}, subscriber});
      caf::anon_send(engine, host::Start{waiting("p"), {}});
      if (round % 3 == 0) {
        caf::anon_send_exit(engine, caf::exit_reason::kill);
      }
    }
    host.system.reset();
    CHECK_FALSE(has_ended);
  }
}

TEST_CASE("a subscription of nobody is refused") {
  HostSystem host;
  const auto engine = spawn(host);
  CHECK(code_of(ask<host::Subscribed>(*host.system, engine, host::Subscribe{})) ==
        ErrorCode::invalid_argument);
}

}  // namespace stagecall::testing
