// What becomes of attempts and requests when their run changes hands: restarts, hand-overs, reports
// that come late.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

namespace {

/// A run with one attempt submitted and one running, whose replica crashes.
RunId crash_with_two_open(World& world, std::vector<NodeSpec> nodes = {task("a"), task("b")}) {
  const RunId run = world.start(pipeline("p", std::move(nodes)));
  world.run();
  REQUIRE(world.executor().launches.size() == 2);
  world.executor().report(world.executor().launches.back().key, SaysRunning{});
  world.advance(200ms);
  REQUIRE(world.nodes(run, NodeState::submitted) == 1);
  REQUIRE(world.nodes(run, NodeState::running) == 1);
  world.crash(world.replica());
  return run;
}

RetryPolicy lost_at_most(std::uint32_t lost_max) {
  return {.lost_max = lost_max};
}

}  // namespace

TEST_CASE("T3: an approval waits over three restarts and a hand-over, and is not lost") {
  World world{16, gone_process()};
  const RunId run = world.start(pipeline("p", {external("approve"), task("next", {"approve"})}));
  world.run();
  World::Member* holder = &world.replica();
  for (int restart = 1; restart <= 3; ++restart) {
    world.crash(*holder);
    holder = &world.add_replica("a" + std::to_string(restart), true,
                                restart == 3 ? this_process() : gone_process());
    REQUIRE(world.runs(*holder).size() == 1);
    CHECK(world.nodes(run, NodeState::running) == 1);
  }
  auto& other = world.add_replica("other");
  CHECK(world.runs(other).empty());
  world.drain(*holder, 0s);
  world.advance(5s);
  REQUIRE(world.runs(other).size() == 1);
  CHECK(world.nodes(run, NodeState::running) == 1);
  World::value(world.put(run, NodeDoneInput{.node = "approve", .outcome = {}}, other));
  CHECK(other.executor.launched_nodes() == std::vector<std::string>{"next"});
  other.executor.end("next");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(count_of<TermOpened>(world.events(run)) == 5);
}

TEST_CASE("T3: done while blocked, or for a command node, changes nothing and leaves no row") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), external("gate", {"a"})}));
  world.run();
  World::value(world.put(run, NodeDoneInput{.node = "gate", .outcome = {}}));
  World::value(world.put(run, NodeDoneInput{.node = "a", .outcome = {}}));
  CHECK(world.nodes(run, NodeState::blocked) == 1);
  CHECK(world.nodes(run, NodeState::submitted) == 1);
  CHECK(world.inbox_rows(run) == 0);
}

TEST_CASE("R8: after a crash each attempt ends as its executor says, nothing runs twice") {
  const std::vector<std::pair<AttemptNews, RunState>> answers{
      {SaysEnded{}, RunState::succeeded},
      {SaysEnded{{.kind = OutcomeKind::failed, .error = "exit 1"}, {}}, RunState::failed},
      {SaysEnded{{.kind = OutcomeKind::stopped, .error = "stopped"}, {}}, RunState::stopped}};
  for (const auto& [answer, result] : answers) {
    CAPTURE(name_of(result));
    World world{16, gone_process()};
    const RunId run = crash_with_two_open(world);
    auto& b = world.add_replica("b");
    b.executor.answer = answer;
    world.advance(5s);
    CHECK(world.state(run) == result);
    CHECK(b.executor.launches.empty());
    CHECK(b.executor.acknowledged.size() == 2);
  }
}

TEST_CASE("R8: an attempt that lives on is asked for until it has ended, and stays one attempt") {
  World world{16, gone_process()};
  const RunId run = crash_with_two_open(world);
  auto& b = world.add_replica("b");
  world.advance(60s);
  CHECK(world.state(run) == RunState::running);
  CHECK(b.executor.launches.empty());
  CHECK(b.executor.queries.size() >= 2 * 10);
  CHECK(b.executor.queries.size() <= 2 * 16);
  b.executor.answer = SaysEnded{};
  world.advance(5s);
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(count_of<AttemptSubmitted>(world.events(run)) == 2);
}

TEST_CASE("R8: an attempt proven absent is lost at once and tried again, once per lost") {
  World world{16, gone_process()};
  const RunId run = crash_with_two_open(world);
  auto& b = world.add_replica("b", true, gone_process());
  b.executor.answer = SaysAbsent{.proven = true};
  world.advance(5s);
  CHECK(b.executor.launches.size() == 2);
  CHECK(b.executor.launches.front().key.attempt == Attempt{2});
  b.executor.end("a");
  b.executor.end("b");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
}

TEST_CASE("R8: an absence that is not proven is lost only after lost_after") {
  World world{16, gone_process()};
  const RunId run = crash_with_two_open(world);
  auto& b = world.add_replica("b");
  b.executor.answer = SaysAbsent{};
  world.advance(5s);  // asked by the tick
  CHECK(count_of<AttemptAbsent>(world.events(run)) == 2);
  world.advance(24s);
  CHECK(b.executor.launches.empty());
  world.advance(6s);
  CHECK(b.executor.launches.size() == 2);
  CHECK(count_of<AttemptAbsent>(world.events(run)) == 2);
}

TEST_CASE("R9: max_lost counts over restarts") {
  World world{16, gone_process()};
  auto a = task("a");
  a.retry = lost_at_most(2);
  const RunId run = world.start(pipeline("p", {a}));
  world.run();
  World::Member* holder = &world.replica();
  for (int restart = 1; restart <= 3; ++restart) {
    REQUIRE(holder->executor.launches.size() == 1);
    world.crash(*holder);
    holder = &world.add_replica("a" + std::to_string(restart), true, gone_process());
    holder->executor.answer = SaysAbsent{.proven = true};
    world.advance(5s);
  }
  CHECK(holder->executor.launches.empty());
  CHECK(world.state(run) == RunState::failed);
  CHECK(count_of<AttemptSubmitted>(world.events(run)) == 3);
}

TEST_CASE("R10: a stop, a crash, a restart: executors are told again, nothing is resumed") {
  World world{16, gone_process()};
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  World::value(world.put(run, StopInput{"test"}));
  REQUIRE(world.state(run) == RunState::stopping);
  world.crash(world.replica());
  auto& b = world.add_replica("b");
  REQUIRE(world.runs(b).size() == 1);
  CHECK(b.executor.cancels.size() == 1);
  b.executor.end("a");
  b.executor.answer = SaysEnded{{.kind = OutcomeKind::stopped, .error = "stopped"}, {}};
  world.advance(5s);
  CHECK(world.state(run) == RunState::stopped);
  CHECK(b.executor.launches.empty());
}

TEST_CASE("R10: a stop that was stored but not looked at before the crash stops the run") {
  World world{16, gone_process()};
  const RunId run = world.start(pipeline("p", {external("gate"), task("b", {"gate"})}));
  world.run();
  world.crash(world.replica());
  World::value(world.replica().store->write(
      {PutInbox{.run = run, .message = StopInput{"test"}, .at = world.clock().wall()}}));
  auto& b = world.add_replica("b");
  CHECK(world.state(run) == RunState::stopped);
  CHECK(b.executor.launches.empty());
  CHECK(world.inbox_rows(run) == 0);
}

TEST_CASE("T1: while the old holder lives its attempt is unreachable, and its end arrives") {
  World world;
  auto& b = world.add_replica("b");
  const RunId run = world.start(pipeline("p", {task("a"), task("next", {"a"})}));
  world.run();
  world.replica().leases->loses_all = true;
  world.advance(6s);
  world.replica().leases->offline = true;  // it cannot take the run back
  world.advance(6s);
  REQUIRE(world.runs(b).size() == 1);
  REQUIRE(world.runs(world.replica()).empty());
  world.advance(60s);
  CHECK(world.nodes(run, NodeState::unreachable) == 1);
  CHECK(b.executor.launches.empty());
  CHECK(b.executor.queries.empty());
  CHECK(count_of<AttemptUnreachable>(world.events(run)) == 1);
  world.executor().end("a");
  world.run();
  world.deliver_nudges();
  CHECK(b.executor.launched_nodes() == std::vector<std::string>{"next"});
  CHECK(world.executor().acknowledged.size() == 1);
  CHECK(world.inbox_rows(run) == 0);
  CHECK(world.count(world.replica().actors->colleagues.custodian, "in_custody") == 0);
}

TEST_CASE("T8: reports at the very moment in which the run is let go are not lost") {
  World world;
  auto& b = world.add_replica("b");
  const RunId run = world.start(pipeline("p", {task("a"), task("c"), task("next", {"a", "c"})}));
  world.run();
  // The reports reach the actor behind the word that its lease is gone.
  const PipelineHandle actor = world.actor_of(run);
  caf::anon_send(actor, LeaseGone{});
  world.executor().end("a");
  world.executor().end("c");
  world.run();
  world.advance(12s);
  world.deliver_nudges();
  const auto launched = [&] {
    return world.executor().launches.size() + b.executor.launches.size();
  };
  CHECK(launched() == 3);
  CHECK(count_of<AttemptSubmitted>(world.events(run)) == 3);
  CHECK(count_of<AttemptEnded>(world.events(run)) == 2);
  CHECK(world.inbox_rows(run) == 0);
}

TEST_CASE("R2: an end that comes when its attempt was given up is still acknowledged") {
  World world;
  NodeSpec given_up = task("a");
  given_up.lost_after = 1s;
  given_up.retry = lost_at_most(0);
  const RunId run = world.start(pipeline("p", {given_up}));
  world.run();
  const AttemptKey key = world.executor().launches.front().key;
  world.executor().report(key, SaysAbsent{});
  world.advance(3s);
  REQUIRE(world.state(run) == RunState::failed);
  world.executor().acknowledged.clear();  // of an attempt that had not ended: it changed nothing
  world.executor().end("a");
  world.run();
  CHECK(world.executor().acknowledged == std::vector<AttemptKey>{key});
}

TEST_CASE("R2: an end that nobody waits for is acknowledged though its run is let go meanwhile") {
  World world;
  NodeSpec given_up = task("a");
  given_up.lost_after = 1s;
  given_up.retry = lost_at_most(0);
  const RunId run = world.start(pipeline("p", {given_up, task("b"), task("c")}));
  world.run();
  const AttemptKey key = world.executor().launches.front().key;
  world.executor().report(key, SaysAbsent{});
  world.advance(3s);
  REQUIRE(world.nodes(run, NodeState::failed) == 1);
  world.executor().acknowledged.clear();
  auto& store = *world.replica().store;
  store.fault = FaultyStore::Fault::lost_in_doubt;
  store.once = true;
  store.reads_fail = true;
  world.executor().end("b");
  world.executor().end("a");
  world.run();
  REQUIRE(world.runs(world.replica()).empty());
  store.reads_fail = false;
  world.advance(10s);
  const auto& acknowledged = world.executor().acknowledged;
  CHECK(std::count(acknowledged.begin(), acknowledged.end(), key) > 0);
}

TEST_CASE("R20: a slot is counted through the grace of a stop, then free for another run") {
  World world{1};
  auto node = task("a");
  node.grace = 2s;
  const RunId stuck = world.start(pipeline("p", {node}));
  world.run();
  const RunId next = world.start(pipeline("q", {task("b")}));
  world.run();
  REQUIRE(world.put(stuck, StopInput{"stop"}).has_value());
  world.run();
  world.advance(1s);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a"});
  CHECK(world.state(stuck) == RunState::stopping);
  world.advance(1s + 2 * kLimits.tick + kLimits.cancel_confirm);
  CHECK(world.state(stuck) == RunState::stopped);
  CHECK(world.leftovers(stuck).size() == 1);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
  CHECK(world.state(next) == RunState::running);
}

TEST_CASE("T14: an attempt that ignores its cancel is listed until its end is told") {
  World world;
  auto node = task("a");
  node.timeout = 1s;
  node.grace = 2s;
  node.lost_after = 20s;
  node.retry = {.attempts_max = 2, .delay = Duration{1}};
  const RunId run = world.start(pipeline("p", {node}));
  world.run();
  const AttemptKey first = world.executor().launches.front().key;
  world.advance(1s + 2s + 19s);
  CHECK(world.executor().launches.size() == 1);
  CHECK(world.leftovers(run).empty());
  // Its slot is counted while it is being ended, and free with the verdict: the second one has it.
  const auto free_slots = [&world] {
    return world.count(world.replica().actors->colleagues.slot_broker, "free");
  };
  CHECK(free_slots() == 15);
  world.advance(5s);
  REQUIRE(world.executor().launches.size() == 2);
  CHECK(free_slots() == 15);
  const std::vector<Leftover> listed = world.leftovers(run);
  REQUIRE(listed.size() == 1);
  CHECK(listed.front().mark == AttemptMark{NodeIndex{0}, Attempt{1}, first.nonce});
  CHECK(listed.front().custodian == "a");

  SUBCASE("while the run goes on") {
    world.executor().report(first, SaysAlive{});
    world.run();
    CHECK(world.leftovers(run).size() == 1);
    world.executor().report(first, SaysEnded{{.kind = OutcomeKind::timed_out}, {}});
    world.run();
    CHECK(world.leftovers(run).empty());
    world.executor().end("a");
    world.run();
  }
  SUBCASE("when the run has ended") {
    world.executor().end("a");
    world.run();
    CHECK(world.leftovers(run).size() == 1);
    CHECK(free_slots() == 16);
    world.executor().report(first, SaysEnded{{.kind = OutcomeKind::timed_out}, {}});
    world.run();
    CHECK(world.leftovers(run).empty());
  }
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(world.executor().acknowledged.back().run == run);
  CHECK(count_of<AttemptEnded>(world.events(run)) == 2);
}
