// Independent scheduling: whose passes an event causes, and when a quiet run ticks.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

namespace {

std::uint64_t total(const PassCounts& passes) {
  return passes.tick + passes.event;
}

/// 1,000 runs that wait for somebody outside.
std::vector<RunId> start_waiting_runs(World& world, std::size_t count) {
  std::vector<RunId> runs;
  for (std::size_t i = 0; i < count; ++i) {
    runs.push_back(world.start(pipeline("waits-" + std::to_string(i), {external("gate")})));
  }
  world.run();
  return runs;
}

/// Passes and handled messages of every run's actor but one.
std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counters(World& world,
                                                                        const RunId& without) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counters;
  for (const auto& [run, actor] : world.runs(world.replica())) {
    if (run == without) {
      continue;
    }
    const ActorInsight description = world.describe(actor);
    // The question itself is a message: counted from the second look on, the same for all.
    counters[run.text()] = {
        description.counters.at("passes_tick") + description.counters.at("passes_event"),
        description.handled};
  }
  return counters;
}

/// What `change` did to the others: nothing but our second question.
void check_others_untouched(World& world, const RunId& without,
                            const std::function<void()>& change) {
  const auto before = counters(world, without);
  change();
  world.run();
  const auto after = counters(world, without);
  REQUIRE(after.size() == before.size());
  for (const auto& [run, counts] : before) {
    CHECK(after.at(run).first == counts.first);
    CHECK(after.at(run).second == counts.second + 1);
  }
}

}  // namespace

TEST_CASE("H1: starting one run causes passes of that run only") {
  World world;
  start_waiting_runs(world, 1'000);
  const RunId started{"starts", 1};
  check_others_untouched(world, started, [&] { world.start(pipeline("starts", {task("a")})); });
  CHECK(total(world.passes(started)) > 0);
}

TEST_CASE("H2: stopping one run causes passes of that run only") {
  World world;
  const auto runs = start_waiting_runs(world, 1'000);
  check_others_untouched(world, runs[500], [&] { world.put(runs[500], StopInput{"test"}); });
  CHECK(world.row(runs[500]).summary.state == RunState::stopped);
  CHECK(world.runs(world.replica()).size() == 999);
}

TEST_CASE("H3: node-done causes passes of its run only, and launches the successor at once") {
  World world;
  start_waiting_runs(world, 1'000);
  const RunId run = world.start(pipeline("p", {external("gate"), task("next", {"gate"})}));
  world.run();
  check_others_untouched(world, run,
                         [&] { world.put(run, NodeDoneInput{.node = "gate", .outcome = {}}); });
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"next"});
  CHECK(world.passes(run).tick == 0);
}

TEST_CASE("H4: a quiet run gets one tick per 5 s, counted from the end of its last pass") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.advance(5s + 100ms);  // the first tick comes within 5 s, by the run's hash
  CHECK(world.passes(run).tick == 1);
  world.advance(60s);
  CHECK(world.passes(run).tick == 13);

  // A pass by an event puts the next tick off.
  const auto ticks_within = [&](Duration wait) {
    const std::uint64_t before = world.passes(run).tick;
    world.advance(wait);
    return world.passes(run).tick - before;
  };
  world.advance(3s);
  world.executor().report(world.executor().launches.front().key, SaysRunning{});
  world.advance(200ms);  // such news may wait 100 ms
  CHECK(ticks_within(4700ms) == 0);
  CHECK(ticks_within(500ms) == 1);
}

TEST_CASE("H4: the first ticks of many runs are spread over the tick") {
  World world;
  const auto runs = start_waiting_runs(world, 100);
  std::set<std::size_t> counts;
  std::size_t ticked = 0;
  for (int step = 0; step < 10; ++step) {
    world.advance(500ms);
    std::size_t now = 0;
    for (const RunId& run : runs) {
      now += world.passes(run).tick;
    }
    counts.insert(now - ticked);
    CHECK(now - ticked < 35);
    ticked = now;
  }
  CHECK(ticked >= 98);
  CHECK(ticked <= 100);
}

TEST_CASE("H5: an event during a pass leads to exactly one more, ten events, still one more") {
  for (const int events : {1, 10}) {
    CAPTURE(events);
    World world;
    std::vector<NodeSpec> nodes{task("first")};
    for (int i = 0; i < events; ++i) {
      nodes.push_back(task("n" + std::to_string(i)));
    }
    const RunId run = world.start(pipeline("p", nodes));
    world.run();
    const PipelineHandle actor = world.actor_of(run);
    const std::uint64_t before = world.passes(run).event;
    // The first report starts a pass, whose commit is awaited while the others arrive.
    world.executor().end("first");
    for (int i = 0; i < events; ++i) {
      world.executor().end("n" + std::to_string(i));
    }
    world.run();
    REQUIRE(world.replica().left.size() == 1);
    const PassCounts passes = world.replica().left.front().status.passes;
    CHECK(passes.event - before == 2);
    CHECK(world.row(run).summary.passes == passes);
  }
}

TEST_CASE("H6: a run that ends leaves no actor, timer, lease or slot, however it ended") {
  for (const std::string how : {"succeeded", "failed", "stopped"}) {
    CAPTURE(how);
    World world{2};
    const RunId run = world.start(pipeline("p", {task("a"), task("b")}));
    world.run();
    REQUIRE(world.executor().launches.size() == 2);
    if (how == "stopped") {
      world.put(run, StopInput{"test"});
      world.executor().end("a", {.kind = OutcomeKind::stopped, .error = "stopped"});
      world.executor().end("b", {.kind = OutcomeKind::stopped, .error = "stopped"});
    } else {
      world.executor().end("a");
      world.executor().end(
          "b", {.kind = how == "failed" ? OutcomeKind::failed : OutcomeKind::succeeded});
    }
    world.run();
    CHECK(name_of(world.row(run).summary.state) == how);
    CHECK(world.runs(world.replica()).empty());
    CHECK(world.replica().leases->holders({run})->front().incarnation.empty());
    CHECK(world.replica().left.front().reason.empty());
    const auto& colleagues = world.replica().actors->colleagues;
    CHECK(world.ask<ActorInsight>(colleagues.slot_broker, Describe{}).counters.at("free") == 2);
    CHECK(world.ask<ActorInsight>(colleagues.custodian, Describe{}).counters.at("in_custody") == 0);
    // Timers that are pending belong to the replica: an hour later no run has made a pass.
    const RunSummary ended = world.row(run).summary;
    world.advance(1h, 1s);
    CHECK(world.row(run).summary == ended);
  }
}

TEST_CASE("H7: an executor that takes 10 s to answer holds up no other run's first pass") {
  for (const std::size_t count : {1, 50, 100}) {
    CAPTURE(count);
    World world{200};
    std::vector<RunId> runs;
    for (std::size_t i = 0; i < count; ++i) {
      runs.push_back(world.start(pipeline("p" + std::to_string(i), {task("a"), task("b", {"a"})})));
    }
    world.run();
    // All are launched before any time has passed, and before anyone has answered.
    CHECK(world.executor().launches.size() == count);
    world.advance(10s);
    for (std::size_t i = 0; i < count; ++i) {
      world.executor().report(world.executor().launches[i].key, SaysEnded{});
    }
    world.run();
    CHECK(world.executor().launches.size() == 2 * count);
  }
}
