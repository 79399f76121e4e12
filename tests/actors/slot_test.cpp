// Slots shared between runs, and wake-ups at recorded moments.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

namespace {

std::vector<NodeSpec> chain(const std::string& prefix, int length) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < length; ++i) {
    nodes.push_back(
        task(prefix + std::to_string(i),
             i == 0 ? std::vector<std::string>{} : std::vector{prefix + std::to_string(i - 1)}));
  }
  return nodes;
}

std::uint64_t free_slots(World& world) {
  return world.count(world.replica().actors->colleagues.slot_broker, "free");
}

/// Ends the newest launch, until nothing new is launched.
void end_newest(World& world) {
  for (std::size_t ended = 0; ended < world.executor().launches.size(); ++ended) {
    const AttemptKey key = world.executor().launches[ended].key;
    world.executor().report(key, SaysEnded{});
    world.run();
  }
}

/// The moment, from now, at which something becomes true, in steps of 100 ms.
template <class Predicate>
Duration time_until(World& world, Predicate is_true) {
  Duration waited{0};
  while (!is_true() && waited < 60s) {
    world.advance(100ms);
    waited += 100ms;
  }
  return waited;
}

}  // namespace

TEST_CASE("two runs of chains share one slot by turns, and it comes back") {
  World world{1};
  const RunId x = world.start(pipeline("x", chain("x", 5)));
  const RunId y = world.start(pipeline("y", chain("y", 5)));
  world.run();
  end_newest(world);
  CHECK(world.executor().launched_nodes() ==
        std::vector<std::string>{"x0", "y0", "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4"});
  CHECK(world.state(x) == RunState::succeeded);
  CHECK(world.state(y) == RunState::succeeded);
  CHECK(free_slots(world) == 1);
}

TEST_CASE("one slot goes to the node of the highest priority first, in and between runs") {
  World world{1};
  const RunId blocker = world.start(pipeline("blocker", {task("first")}));
  world.run();
  auto low = task("low");
  auto high = task("high");
  auto highest = task("highest");
  low.priority = -5;
  high.priority = 5;
  highest.priority = 50;
  const RunId x = world.start(pipeline("x", {low, high}));
  const RunId y = world.start(pipeline("y", {task("middle"), highest}));
  world.run();
  end_newest(world);
  CHECK(world.executor().launched_nodes() ==
        std::vector<std::string>{"first", "highest", "high", "middle", "low"});
  CHECK(world.state(blocker) == RunState::succeeded);
  CHECK(world.state(x) == RunState::succeeded);
  CHECK(world.state(y) == RunState::succeeded);
  CHECK(free_slots(world) == 1);
}

TEST_CASE("a node that takes several slots gets them, though narrow ones keep coming") {
  World world{4};
  auto wide = task("wide");
  wide.slots = 3;
  const RunId narrow = world.start(
      pipeline("narrow", {task("n0"), task("n1"), task("n2"), task("n3"), task("n4"), task("n5")}));
  const RunId run = world.start(pipeline("wide", {wide}));
  world.run();
  end_newest(world);
  const auto launched = world.executor().launched_nodes();
  CHECK(launched.size() == 7);
  CHECK(world.state(narrow) == RunState::succeeded);
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(free_slots(world) == 4);
}

TEST_CASE("slots come back from runs that are stopped, fail, retry or lose their lease") {
  World world{3};
  auto retried = task("retried");
  retried.retry = {.attempts_max = 2, .delay = 1s};
  const RunId run = world.start(pipeline("p", {retried, task("b"), task("c")}));
  const RunId waits = world.start(pipeline("waits", {task("d")}));
  world.run();
  CHECK(free_slots(world) == 0);
  world.executor().end("retried", {.kind = OutcomeKind::failed, .error = "exit 1"});
  world.run();
  CHECK(world.executor().launches.back().key.node == "d");
  world.executor().end("d");
  world.executor().end("b");
  world.executor().end("c");
  world.run();
  CHECK(free_slots(world) == 3);
  world.advance(2s);
  CHECK(free_slots(world) == 2);
  caf::anon_send(world.actor_of(run), LeaseGone{});
  world.run();
  CHECK(free_slots(world) == 3);
  CHECK(world.state(waits) == RunState::succeeded);
}

TEST_CASE("R21: a backoff ends at its moment, not at the next tick") {
  World world;
  auto node = task("a");
  node.retry = {.attempts_max = 4, .delay = 700ms, .factor = 2};
  world.start(pipeline("p", {node}));
  world.run();
  for (const Duration expected : {700ms, 1400ms, 2800ms}) {
    const std::size_t before = world.executor().launches.size();
    world.executor().end("a", {.kind = OutcomeKind::failed, .error = "exit 1"});
    world.run();
    const Duration waited =
        time_until(world, [&] { return world.executor().launches.size() > before; });
    CHECK(waited == expected);
  }
}

TEST_CASE("R20, R24: a timeout and the end of its grace come at their moments") {
  World world{1};
  auto node = task("a");
  node.timeout = 1300ms;
  node.grace = 2s;
  const RunId run = world.start(pipeline("p", {node}));
  world.run();
  CHECK(time_until(world, [&] { return !world.executor().cancels.empty(); }) == 1300ms);
  CHECK(world.executor().cancels.front().reason == CancelReason::timeout);
  // The executor never answers: the grace, and the time for its KILL.
  CHECK(time_until(world, [&] { return is_terminal(world.state(run)); }) ==
        2s + kLimits.cancel_confirm);
  CHECK(world.state(run) == RunState::failed);
  CHECK(free_slots(world) == 1);
}

TEST_CASE("T7: the run's timeout fires while its open nodes wait for a slot") {
  World world{1};
  world.start(pipeline("blocker", {task("x")}));
  world.run();
  auto spec = pipeline("p", {task("a")});
  spec.timeout = 2700ms;
  const RunId run = world.start(spec);
  CHECK(time_until(world, [&] { return is_terminal(world.state(run)); }) == 2700ms);
  CHECK(world.state(run) == RunState::failed);
}

TEST_CASE("T12: a wall clock that is set changes no deadline inside a term") {
  for (const Duration step : {Duration{1h}, Duration{-1h}}) {
    CAPTURE(step.count());
    World world;
    auto node = task("a");
    node.timeout = 3s;
    const RunId run = world.start(pipeline("p", {node}));
    world.advance(1s);
    world.clock().wall_offset = step;
    CHECK(time_until(world, [&] { return !world.executor().cancels.empty(); }) == 2s);
    const std::uint64_t ticks = world.passes(run).tick;
    world.advance(4s);
    CHECK(world.passes(run).tick <= ticks + 1);
    CHECK(world.status(run).elapsed >= Duration{0});
    CHECK(world.status(run).elapsed <= Duration{10s});
  }
}

TEST_CASE("a run that comes back to its own running attempt gets slots for more") {
  World world{2};
  const RunId run = world.start(pipeline("p", {task("a"), external("gate"), task("c", {"gate"})}));
  world.run();
  world.replica().leases->loses_all = true;
  world.advance(6s);
  world.replica().leases->loses_all = false;
  world.advance(5s);
  REQUIRE(world.runs(world.replica()).size() == 1);
  REQUIRE(world.put(run, NodeDoneInput{.node = "gate", .outcome = {}}).has_value());
  world.run();
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "c"});
}
