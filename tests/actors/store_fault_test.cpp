// A store that fails: nothing unrecorded happens, nothing recorded or reported is lost.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;
using Fault = FaultyStore::Fault;

namespace {

bool is_append(const Write& write) {
  return std::holds_alternative<AppendPass>(write);
}

std::function<bool(const Write&)> append_of(const RunId& run) {
  return [run](const Write& write) {
    const auto* append = std::get_if<AppendPass>(&write);
    return append != nullptr && append->run == run;
  };
}

std::uint64_t commits(World& world) {
  return world.count(world.replica().actors->colleagues.store, "commits");
}

}  // namespace

TEST_CASE("T11: a commit in doubt is read back: neither lost nor twice, written or not") {
  for (const Fault fault : {Fault::written_in_doubt, Fault::lost_in_doubt}) {
    CAPTURE(fault == Fault::written_in_doubt);
    World world;
    const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
    world.run();
    auto& store = *world.replica().store;
    store.concerns = is_append;
    store.fault = fault;
    store.once = true;
    world.executor().end("a");
    world.run();
    CHECK(store.faults == 1);
    CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
    world.executor().end("b");
    world.run();
    CHECK(world.state(run) == RunState::succeeded);
    CHECK(count_of<AttemptSubmitted>(world.events(run)) == 2);
    CHECK(count_of<AttemptEnded>(world.events(run)) == 2);
    CHECK(world.row(run).term == Term{1});
  }
}

TEST_CASE("T11: a start whose commit was in doubt is not left lying if it took place") {
  World world;
  auto& store = *world.replica().store;
  store.fault = Fault::written_in_doubt;
  store.once = true;
  const auto started = world.start(pipeline("p", {task("a")}), world.replica());
  REQUIRE_FALSE(started);
  CHECK(started.error().code == ErrorCode::outcome_unknown);
  world.advance(10s);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a"});
}

TEST_CASE("T11: what cannot be read back lets the run go, and nothing is lost or done twice") {
  for (const Fault fault : {Fault::written_in_doubt, Fault::lost_in_doubt}) {
    CAPTURE(fault == Fault::written_in_doubt);
    World world;
    const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
    world.run();
    auto& store = *world.replica().store;
    store.concerns = is_append;
    store.fault = fault;
    store.once = true;
    store.reads_fail = true;
    store.surveys_fail = true;
    world.executor().end("a");
    world.run();
    CHECK(world.runs(world.replica()).empty());
    world.advance(6s);
    store.surveys_fail = false;
    world.advance(6s);  // now its history cannot be read
    CHECK(world.runs(world.replica()).empty());
    store.reads_fail = false;
    world.advance(12s);
    REQUIRE(world.runs(world.replica()).size() == 1);
    CHECK(world.row(run).term > Term{1});
    CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
    world.executor().end("b");
    world.run();
    CHECK(world.state(run) == RunState::succeeded);
    CHECK(world.inbox_rows(run) == 0);
  }
}

TEST_CASE(
    "S2: a store that refuses writes for a while: nothing unrecorded is launched, all resumes") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"}), external("gate")}));
  world.run();
  auto& store = *world.replica().store;
  store.fault = Fault::unavailable;
  world.executor().end("a");
  world.advance(30s);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a"});
  CHECK(world.nodes(run, NodeState::submitted) == 1);
  CHECK(store.faults >= 20);  // tried again about once a second
  CHECK(store.faults <= 60);
  CHECK_FALSE(world.put(run, StopInput{"refused while the store is away"}));
  store.fault = Fault::none;
  world.advance(2s);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
  CHECK(count_of<AttemptEnded>(world.events(run)) == 1);
  CHECK(world.state(run) == RunState::running);
}

TEST_CASE("S2: a request that could not be read when it was told of is read by the next tick") {
  World world;
  const RunId run = world.start(pipeline("p", {external("gate")}));
  world.run();
  world.replica().store->reads_fail = true;
  World::value(world.put(run, StopInput{"test"}));
  CHECK(world.state(run) == RunState::running);
  world.replica().store->reads_fail = false;
  world.advance(5s + 100ms);
  CHECK(world.state(run) == RunState::stopped);
  CHECK(world.inbox_rows(run) == 0);
}

TEST_CASE("T11: other runs are unaffected by one that cannot be written") {
  World world;
  const RunId bad = world.start(pipeline("bad", {task("a"), task("b", {"a"})}));
  const RunId good = world.start(pipeline("good", {task("c"), task("d", {"c"})}));
  world.run();
  auto& store = *world.replica().store;
  store.concerns = append_of(bad);
  store.fault = Fault::unavailable;
  world.executor().end("a");
  world.run();
  world.executor().end("c");
  world.run();
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "c", "d"});
  world.executor().end("d");
  world.run();
  CHECK(world.state(good) == RunState::succeeded);
  store.fault = Fault::none;
  world.advance(2s);
  CHECK(world.executor().launches.back().key.node == "b");
}

TEST_CASE("group commit: 100 runs that end in the same moment take few transactions") {
  World world{200};
  std::vector<RunId> runs;
  for (int i = 0; i < 100; ++i) {
    runs.push_back(world.start(pipeline("p" + std::to_string(i), {task("a")})));
  }
  world.run();
  REQUIRE(world.executor().launches.size() == 100);
  const std::uint64_t before = commits(world);
  const std::uint64_t writes = world.count(world.replica().actors->colleagues.store, "writes");
  const auto launches = world.executor().launches;
  for (const Launch& launch : launches) {
    world.executor().report(launch.key, SaysEnded{});
  }
  world.run();
  for (const RunId& run : runs) {
    CHECK(world.state(run) == RunState::succeeded);
  }
  CHECK(world.count(world.replica().actors->colleagues.store, "writes") - writes == 100);
  CHECK(commits(world) - before <= 10);
}
