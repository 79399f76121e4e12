#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace stagecall::testing {
namespace {

/// What a subscriber was told, from any thread.
class Told {
 public:
  EventCallback callback() {
    return [this](const RunEvent& event) {
      const std::lock_guard lock{mutex_};
      events_.push_back(event);
    };
  }
  std::vector<std::string> kinds() {
    const std::lock_guard lock{mutex_};
    std::vector<std::string> kinds;
    for (const RunEvent& event : events_) {
      kinds.push_back(std::string{event.kind} + (event.node.empty() ? "" : " " + event.node));
    }
    return kinds;
  }
  bool has_ended() {
    const std::lock_guard lock{mutex_};
    return !events_.empty() && events_.back().kind == "run_ended";
  }
  std::vector<RunEvent> events() {
    const std::lock_guard lock{mutex_};
    return events_;
  }

 private:
  std::mutex mutex_;
  std::vector<RunEvent> events_;
};

}  // namespace

TEST_CASE_FIXTURE(EngineFixture, "a subscriber is told each recorded event, in order, once") {
  Engine engine = open();
  Told all;
  Told other;
  const Subscription to_all = value(engine.subscribe({}, all.callback()));
  const Subscription to_other = value(engine.subscribe({.pipeline = "q"}, other.callback()));
  const RunId run = value(engine.start(chain_of("p", "noop", {"a", "b"})));
  CHECK(end_of(engine, run) == RunState::succeeded);
  REQUIRE(eventually([&] { return all.has_ended(); }));
  CHECK(all.kinds() == std::vector<std::string>{"run_started", "term_opened", "attempt_submitted a",
                                                "attempt_ended a", "attempt_submitted b",
                                                "attempt_ended b", "run_ended"});
  CHECK(other.kinds().empty());
  CHECK(all.events()[3].outcome == Outcome::succeeded());
  CHECK(all.events().back().result == RunState::succeeded);

  Told late;
  const Subscription to_late =
      value(engine.subscribe({.run = run, .after = all.events()[2].seq}, late.callback()));
  REQUIRE(eventually([&] { return late.has_ended(); }));
  CHECK(late.kinds() == std::vector<std::string>{"attempt_ended a", "attempt_submitted b",
                                                 "attempt_ended b", "run_ended"});
  CHECK(code_of(engine.subscribe({.run = RunId{"p", 9}}, late.callback())) == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(EngineFixture, "a subscriber sees what another engine records") {
  EngineOptions watching = options();
  watching.adopts = false;
  watching.tick = 50ms;
  Engine watcher = value(Engine::open(watching));
  Told told;
  const Subscription subscription = value(watcher.subscribe({}, told.callback()));
  Engine worker = open();
  CHECK(end_of(worker, value(worker.start(chain_of("p", "noop", {"a"})))) == RunState::succeeded);
  REQUIRE(eventually([&] { return told.has_ended(); }));
  CHECK(told.events().size() == 5);
}

TEST_CASE_FIXTURE(EngineFixture, "a callback that throws or stands still disturbs nobody") {
  Engine engine = open();
  std::mutex mutex;
  std::condition_variable changed;
  bool may_go_on = false;
  int thrown = 0;
  Told told;
  const Subscription stuck = value(engine.subscribe({}, [&](const RunEvent&) {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return may_go_on; });
  }));
  const Subscription throwing = value(engine.subscribe({}, [&](const RunEvent&) {
    ++thrown;
    throw std::runtime_error{"not today"};
  }));
  const Subscription good = value(engine.subscribe({}, told.callback()));
  CHECK(end_of(engine, value(engine.start(chain_of("p", "noop", {"a", "b"})))) ==
        RunState::succeeded);
  CHECK(eventually([&] { return told.has_ended(); }));
  {
    const std::lock_guard lock{mutex};
    may_go_on = true;
  }
  changed.notify_all();
  CHECK(eventually([&] { return told.events().size() == 7; }));
  CHECK(thrown == 1);
}

TEST_CASE_FIXTURE(EngineFixture,
                  "a subscription may end within its own callback, or after the engine") {
  std::optional<Subscription> outliving;
  {
    Engine engine = open();
    std::optional<Subscription> own;
    std::mutex mutex;
    std::condition_variable changed;
    bool is_ended = false;
    {
      const std::lock_guard lock{mutex};
      own = value(engine.subscribe({}, [&](const RunEvent&) {
        const std::lock_guard inside{mutex};
        own.reset();
        is_ended = true;
        changed.notify_all();
      }));
    }
    Told told;
    outliving = value(engine.subscribe({}, told.callback()));
    const RunId run = value(engine.start(waiting("p")));
    {
      std::unique_lock lock{mutex};
      changed.wait(lock, [&] { return is_ended; });
    }
    value(engine.stop(run));
    CHECK(end_of(engine, run) == RunState::stopped);
    CHECK(eventually([&] { return told.has_ended(); }));
  }
  outliving.reset();
}

TEST_CASE_FIXTURE(EngineFixture, "a subscriber that is kept busy still sees what others record") {
  EngineOptions busy = options();
  busy.tick = 50ms;
  Engine here = value(Engine::open(busy));
  Engine elsewhere = open();
  std::atomic<bool> is_seen = false;
  const Subscription subscription = value(here.subscribe({}, [&](const RunEvent& event) {
    is_seen = is_seen || (event.run.pipeline == "other" && event.kind == "run_ended");
  }));
  CHECK(end_of(elsewhere, value(elsewhere.start(chain_of("other", "noop", {"a"})))) ==
        RunState::succeeded);
  // Each of these is news within less than a look.
  for (int i = 0; i < 500 && !is_seen; ++i) {
    CHECK(end_of(here, value(here.start(chain_of("here", "noop", {"a"})))) == RunState::succeeded);
  }
  CHECK(is_seen);
}

TEST_CASE_FIXTURE(EngineFixture, "nothing comes after the last place in a history") {
  Engine engine = open();
  const RunId run = value(engine.start(chain_of("p", "noop", {"a"})));
  CHECK(end_of(engine, run) == RunState::succeeded);
  Told told;
  const Subscription none =
      value(engine.subscribe({.run = run, .after = Seq{~std::uint64_t{0}}}, told.callback()));
  Told whole;
  const Subscription all = value(engine.subscribe({.run = run}, whole.callback()));
  REQUIRE(eventually([&] { return whole.has_ended(); }));
  CHECK(told.events().empty());
}

TEST_CASE_FIXTURE(EngineFixture, "a subscription and its engine may end at one moment") {
  for (int round = 0; round < 50; ++round) {
    auto engine = std::make_optional(open());
    auto subscription = std::make_optional(value(engine->subscribe({}, [](const RunEvent&) {})));
    value(engine->start(waiting("p")));
    std::thread other{[&] { subscription.reset(); }};
    engine.reset();
    other.join();
  }
  CHECK(value(open().runs()).size() == 1);
}

}  // namespace stagecall::testing
