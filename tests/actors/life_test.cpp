// A run's life through the shipped actors: order, stops, repeated reports, requests of any replica.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

namespace {

/// Ends one open launch after another, the newest first, until nothing new is launched.
void end_all(World& world) {
  std::set<std::string> ended;
  for (bool found = true; found;) {
    found = false;
    const auto launches = world.executor().launches;
    for (auto launch = launches.rbegin(); launch != launches.rend(); ++launch) {
      if (ended.insert(launch->key.text()).second) {
        found = true;
        world.executor().report(launch->key, SaysEnded{});
        world.run();
      }
    }
  }
}

bool is_before(const std::vector<std::string>& launched, const std::string& first,
               const std::string& second) {
  const auto at = [&](const std::string& node) {
    return std::find(launched.begin(), launched.end(), node);
  };
  return at(first) < at(second) && at(second) != launched.end();
}

const Outcome kFailed{.kind = OutcomeKind::failed, .exit_code = 3, .error = "exit 3"};

}  // namespace

TEST_CASE("R1: chain, diamond, fan, islands: each node once, after all that it waits for") {
  const std::map<std::string, std::vector<NodeSpec>> shapes{
      {"chain", {task("a"), task("b", {"a"}), task("c", {"b"}), task("d", {"c"})}},
      {"diamond", {task("a"), task("b", {"a"}), task("c", {"a"}), task("d", {"b", "c"})}},
      {"fan", {task("a"), task("b", {"a"}), task("c", {"a"}), task("d", {"a"}), task("e", {"a"})}},
      {"islands", {task("a"), task("b"), task("c", {"b"}), task("d"), task("e", {"d"})}}};
  for (const auto& [name, nodes] : shapes) {
    for (const std::uint32_t slots : {1U, 2U, 16U}) {
      CAPTURE(name);
      CAPTURE(slots);
      World world{slots};
      const RunId run = world.start(pipeline(name, nodes));
      world.run();
      end_all(world);
      CHECK(world.state(run) == RunState::succeeded);
      const auto launched = world.executor().launched_nodes();
      CHECK(launched.size() == nodes.size());
      CHECK(std::set<std::string>{launched.begin(), launched.end()}.size() == nodes.size());
      for (const NodeSpec& node : nodes) {
        for (const std::string& before : node.after) {
          CHECK(is_before(launched, before, node.id));
        }
      }
    }
  }
}

TEST_CASE("R3: a second start of a live pipeline, here or elsewhere, is the same run") {
  World world;
  auto& b = world.add_replica("b");
  const auto spec = pipeline("p", {task("a"), task("b", {"a"})});
  const auto first = World::value(world.start(spec, world.replica()));
  world.run();
  const auto again = World::value(world.start(spec, world.replica()));
  const auto elsewhere = World::value(world.start(spec, b));
  world.advance(6s);
  CHECK(first.created);
  CHECK_FALSE(again.created);
  CHECK_FALSE(elsewhere.created);
  CHECK(again.row.run == first.row.run);
  CHECK(elsewhere.row.run == first.row.run);
  CHECK(world.replica().store->runs()->size() == 1);
  CHECK(world.executor().launches.size() == 1);
  CHECK(b.executor.launches.empty());
}

TEST_CASE("R3: a request id gives the same run, even after it has ended") {
  World world;
  auto definition = World::value(Definition::build(pipeline("p", {task("a")})));
  const StartRequest request{definition, write_pipeline(definition->spec()), "request-1"};
  const auto start = [&] {
    return World::value(
        world.ask<StartResponse>(world.replica().actors->supervisor, request).started);
  };
  const auto first = start();
  world.run();
  world.executor().end("a");
  world.run();
  REQUIRE(world.state(first.row.run) == RunState::succeeded);
  const auto again = start();
  world.advance(6s);
  CHECK_FALSE(again.created);
  CHECK(again.row.run == first.row.run);
  CHECK(world.executor().launches.size() == 1);
}

TEST_CASE("R3: concurrent_runs lets so many runs of a pipeline live side by side") {
  World world;
  auto spec = pipeline("p", {task("a")});
  spec.concurrent_runs = 2;
  const auto first = World::value(world.start(spec, world.replica()));
  const auto second = World::value(world.start(spec, world.replica()));
  const auto third = World::value(world.start(spec, world.replica()));
  world.run();
  CHECK(second.created);
  CHECK(second.row.run != first.row.run);
  CHECK_FALSE(third.created);
  CHECK(world.executor().launches.size() == 2);
}

TEST_CASE("R4: a stop before any pass launches nothing and stops everything") {
  World world{1};
  const RunId blocker = world.start(pipeline("blocker", {task("x")}));
  world.run();
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"}), external("c")}));
  CHECK(World::value(world.put(run, StopInput{"test"})).is_stored());
  world.run();
  CHECK(world.state(run) == RunState::stopped);
  CHECK(world.nodes(run, NodeState::stopped) == 3);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"x"});
  CHECK(world.state(blocker) == RunState::running);
}

TEST_CASE("R4: a stop twice, of an unknown run, of an ended run: defined answers, no row left") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.run();
  CHECK(World::value(world.put(run, StopInput{"one"})).is_stored());
  CHECK(World::value(world.put(run, StopInput{"two"})).fate == InboxFate::waiting);
  world.run();
  CHECK(world.executor().cancels.size() == 1);
  CHECK(count_of<StopRequested>(world.events(run)) == 1);
  world.executor().end("a", {.kind = OutcomeKind::stopped, .error = "stopped"});
  world.run();
  REQUIRE(world.state(run) == RunState::stopped);
  const auto late = World::value(world.put(run, StopInput{"late"}));
  CHECK(late.state == RunState::stopped);
  CHECK(late.fate == InboxFate::ended);
  CHECK(world.inbox_rows(run) == 0);
  const auto unknown = world.put(RunId{"nobody", 7}, StopInput{"test"});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::not_found);
}

TEST_CASE("R5: done and failed mixed: the run goes on while a branch runs, then it has failed") {
  World world;
  const RunId run = world.start(
      pipeline("p", {task("bad"), task("behind", {"bad"}), task("good"), task("next", {"good"})}));
  world.run();
  world.executor().end("bad", kFailed);
  world.run();
  CHECK(world.state(run) == RunState::running);
  CHECK(world.nodes(run, NodeState::skipped) == 1);
  world.executor().end("good");
  world.run();
  CHECK(world.state(run) == RunState::running);
  world.executor().end("next");
  world.run();
  CHECK(world.state(run) == RunState::failed);
  REQUIRE(world.replica().left.size() == 1);
  const auto failed = world.replica().left.front().status.failed;
  REQUIRE(failed.size() == 1);
  CHECK(failed.front().node == "bad");
  CHECK(failed.front().outcome == kFailed);
}

TEST_CASE("R6: an attempt that goes from submitted straight to succeeded leaves its start") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.run();
  world.executor().end("a");
  world.run();
  const auto events = world.events(run);
  CHECK(count_of<AttemptSubmitted>(events) == 1);
  CHECK(count_of<AttemptRunning>(events) == 0);
  CHECK(count_of<AttemptEnded>(events) == 1);
  CHECK(std::holds_alternative<RunEnded>(events.back()));
}

TEST_CASE("R13: done before the launch call returned, 10,000 nodes: none stuck, none twice") {
  World world{64};
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 10'000; ++i) {
    const bool is_chained = i % 10 != 0;
    nodes.push_back(task("n" + std::to_string(i), is_chained
                                                      ? std::vector{"n" + std::to_string(i - 1)}
                                                      : std::vector<std::string>{}));
  }
  auto& executor = world.executor();
  executor.on_submit = [&](const Launch& launch) { executor.report(launch.key, SaysEnded{}); };
  const RunId run = world.start(pipeline("p", nodes));
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(world.nodes(run, NodeState::succeeded) == 10'000);
  const auto launched = executor.launched_nodes();
  CHECK(launched.size() == 10'000);
  CHECK(std::set<std::string>{launched.begin(), launched.end()}.size() == 10'000);
  // 64 at a time; each report may cost a pass of its own, no more.
  CHECK(world.row(run).summary.passes.event <= 10'100);
  CHECK(world.row(run).summary.passes.tick == 0);
  CHECK(world.count(world.replica().actors->colleagues.slot_broker, "free") == 64);
}

TEST_CASE("R14: done three times, then failed, for one attempt: the first one counts") {
  for (const bool in_one_pass : {true, false}) {
    CAPTURE(in_one_pass);
    World world;
    const RunId run = world.start(pipeline("p", {task("a"), task("b")}));
    world.run();
    for (const Outcome& outcome : {Outcome{}, Outcome{}, Outcome{}, kFailed}) {
      world.executor().end("a", outcome);
      if (!in_one_pass) {
        world.run();
      }
    }
    world.run();
    CHECK(world.nodes(run, NodeState::succeeded) == 1);
    CHECK(world.nodes(run, NodeState::failed) == 0);
    CHECK(count_of<AttemptEnded>(world.events(run)) == 1);
    world.executor().end("b");
    world.run();
    CHECK(world.state(run) == RunState::succeeded);
  }
}

TEST_CASE("R15: done 0, 1, 100 ms after the stop: what is behind it never starts") {
  for (const Duration wait : {0ms, 1ms, 100ms}) {
    CAPTURE(wait.count());
    World world;
    const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
    world.run();
    caf::anon_send(world.replica().actors->supervisor, InboxRequest{run, StopInput{"test"}, {}});
    if (wait > 0ms) {
      world.advance(wait, 1ms);
    }
    world.executor().end("a");
    world.run();
    world.advance(30s);
    const bool stop_came_first = world.state(run) == RunState::stopped;
    if (wait > 0ms) {
      CHECK(stop_came_first);
      CHECK(world.executor().launches.size() == 1);
      CHECK(world.nodes(run, NodeState::stopped) == 1);
    } else {
      // Which of the two is recorded first is open; then everything follows from it.
      CHECK(is_terminal(world.state(run)));
    }
  }
}

TEST_CASE("H10: a done at a replica that does not hold the run: at once, or on the next tick") {
  for (const bool nudge_arrives : {true, false}) {
    CAPTURE(nudge_arrives);
    World world;
    auto& b = world.add_replica("b");
    const RunId run = world.start(pipeline("p", {external("gate"), task("next", {"gate"})}));
    world.run();
    const auto reply =
        World::value(world.put(run, NodeDoneInput{.node = "gate", .outcome = {}}, b));
    CHECK(reply.owner == world.replica().settings->self.incarnation);
    if (nudge_arrives) {
      world.deliver_nudges();
    } else {
      world.advance(5s);
    }
    CHECK(world.executor().launched_nodes() == std::vector<std::string>{"next"});
    CHECK(world.inbox_rows(run) == 0);
  }
}

TEST_CASE("T8: an inbox that holds more than a pass takes is consumed to the last row") {
  World world;
  std::vector<NodeSpec> nodes;
  const std::size_t count = kLimits.inbox_read_max + kLimits.inbox_read_max / 2;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(external("gate-" + std::to_string(i)));
  }
  const RunId run = world.start(pipeline("p", nodes));
  world.run();
  // Written by another process, as by a command: nobody here is told but by the tick.
  auto& b = world.add_replica("b", false);
  std::vector<Write> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(PutInbox{.run = run,
                            .message = NodeDoneInput{.node = nodes[i].id, .outcome = {}},
                            .at = world.clock().wall()});
  }
  World::value(b.store->write(rows));
  REQUIRE(world.inbox_rows(run) == count);
  world.advance(5s);
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(world.nodes(run, NodeState::succeeded) == count);
  CHECK(world.inbox_rows(run) == 0);
}

TEST_CASE("R4: a stop that came before anyone held the run lets nothing start") {
  World world;
  const auto definition =
      World::value(Definition::build(pipeline("p", {task("a"), task("b", {"a"})})));
  const WallTime now = world.clock().wall();
  const Decision first = begin(PipelineState{definition}, std::nullopt, now);
  const auto started = World::value(
      world.replica().store->write({StartRun{.pipeline = "p",
                                             .definition = write_pipeline(definition->spec()),
                                             .at = now,
                                             .events = first.events,
                                             .summary = {.nodes = first.draft.run().counts}}}));
  const RunId run = std::get<RunStartedReply>(*started.front()).row.run;
  REQUIRE(World::value(world.replica().store->write(
                           {PutInbox{.run = run, .message = StopInput{"early"}, .at = now}}))
              .front()
              .has_value());
  World::Member& next = world.add_replica("b");  // finds the run in its first look
  world.run();
  CHECK(next.executor.launches.empty());
  CHECK(world.executor().launches.empty());
  CHECK(world.row(run).summary.state == RunState::stopped);
}
