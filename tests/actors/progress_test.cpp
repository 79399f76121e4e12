// How far attempts are, as the holder of their run tells: live, and nowhere recorded.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

namespace {

AttemptKey launched(World& world, const std::string& node) {
  for (const Launch& launch : world.executor().launches) {
    if (launch.key.node == node) {
      return launch.key;
    }
  }
  FAIL("not launched: " << node);
  return {};
}

void says(World& world, const AttemptKey& key, AttemptNews news) {
  world.executor().report(key, std::move(news));
  world.run();
}

RunView view_of(World& world, const RunId& run) {
  return world.view(run, world.replica());
}

std::optional<double> progress_of(World& world, const RunId& run) {
  const auto running = view_of(world, run).status.running;
  REQUIRE(running.size() == 1);
  return running.front().progress;
}

}  // namespace

TEST_CASE(
    "R7: progress makes a submitted attempt running once, and then costs neither commit nor pass") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), external("ask")}));
  world.run();
  const AttemptKey key = launched(world, "a");
  says(world, key, SaysProgress{0.25});
  world.advance(kLimits.news_wait);
  REQUIRE(world.nodes(run, NodeState::running) == 2);
  CHECK(view_of(world, run).held.progress == std::vector<NodeProgress>{{"a", Attempt{1}, 0.25}});

  const Seq recorded = world.row(run).last_seq;
  const PassCounts passes = world.passes(run);
  for (int i = 0; i < 1'000; ++i) {
    says(world, key, SaysProgress{i / 1'000.0});
  }
  world.advance(kLimits.news_wait);
  CHECK(world.row(run).last_seq == recorded);
  CHECK(world.passes(run) == passes);
  CHECK(view_of(world, run).held.progress == std::vector<NodeProgress>{{"a", Attempt{1}, 0.999}});
}

TEST_CASE("R7: progress outside 0 to 1 is clamped, and what is no number is not shown") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.run();
  const AttemptKey key = launched(world, "a");
  says(world, key, SaysRunning{});
  world.advance(kLimits.news_wait);
  CHECK(progress_of(world, run) == std::nullopt);
  says(world, key, SaysProgress{std::numeric_limits<double>::quiet_NaN()});
  CHECK(progress_of(world, run) == std::nullopt);
  for (const auto& [told, shown] : {std::pair{-1.0, 0.0}, {0.5, 0.5}, {7.0, 1.0}}) {
    says(world, key, SaysProgress{told});
    CHECK(progress_of(world, run) == shown);
  }
}

TEST_CASE(
    "R7: progress is of the attempt that runs: another launch's or an earlier one's is none") {
  World world;
  PipelineSpec spec = pipeline("p", {task("a")});
  spec.nodes.front().retry.attempts_max = 2;
  const RunId run = world.start(std::move(spec));
  world.run();
  const AttemptKey first = launched(world, "a");
  says(world, first, SaysProgress{0.5});
  AttemptKey other = first;
  ++other.nonce.value;
  says(world, other, SaysProgress{0.75});
  world.advance(kLimits.news_wait);
  CHECK(progress_of(world, run) == 0.5);
  says(world, first, SaysEnded{Outcome::failed("no")});
  world.advance(2s);
  REQUIRE(world.executor().launches.size() == 2);
  const AttemptKey second = world.executor().launches.back().key;
  says(world, second, SaysRunning{});
  world.advance(kLimits.news_wait);
  CHECK(progress_of(world, run) == std::nullopt);
  says(world, first, SaysProgress{0.9});
  CHECK(progress_of(world, run) == std::nullopt);
  says(world, second, SaysProgress{0.1});
  CHECK(progress_of(world, run) == 0.1);
}

TEST_CASE("R7: who takes a run over knows no progress until it is told again") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.run();
  says(world, launched(world, "a"), SaysProgress{0.5});
  world.advance(kLimits.news_wait);
  const RunStatus held = world.status(run);
  REQUIRE(held.running.size() == 1);
  CHECK(held.running.front().progress == 0.5);
  world.crash(world.replica());
  World::Member& next = world.add_replica("b");
  world.advance(20s);
  const RunStatus taken = world.status(run, next);
  for (const RunningNode& node : taken.running) {
    CHECK(node.progress == std::nullopt);
  }
}

TEST_CASE("the holder of a run tells its term, its trust and the slots that lie idle with it") {
  World world{2};
  const RunId run = world.start(pipeline("p", {task("a"), task("b"), task("c")}));
  world.run();
  const HeldView held = view_of(world, run).held;
  CHECK(held.run == run);
  CHECK(held.term == world.row(run).term);
  CHECK(held.replica == "a");
  CHECK_FALSE(held.is_draining);
  CHECK(held.lease_left > 0s);
  CHECK(held.slots_free == 0);
  const auto left = world.ask<SlotsLeft>(world.replica().actors->colleagues.slot_broker,
                                         SlotsRequest{RunId{"other", 1}});
  CHECK(left.free == 0);
  CHECK(left.others_wait);
  world.replica().leases->offline = true;
  world.advance(20s);
  CHECK(view_of(world, run).held.lease_left < 0s);
}
