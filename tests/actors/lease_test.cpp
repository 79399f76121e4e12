// Who schedules a run: leases that are renewed, lost or out of reach, several replicas, terms.
#include "actors/log.hpp"
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <numeric>
#include <sstream>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

namespace {

std::size_t launches(World& world, std::size_t replicas) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < replicas; ++i) {
    count += world.replica(i).executor.launches.size();
  }
  return count;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("L21: lease store out of reach: runs park at the end of trust and resume by themselves") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"}), task("c", {"b"})}));
  world.run();
  world.replica().leases->offline = true;
  world.advance(10s);  // trusted still
  world.executor().end("a");
  world.run();
  CHECK(world.executor().launches.size() == 2);
  world.advance(20s);
  const Seq parked_at = world.row(run).last_seq;
  world.executor().end("b");
  world.advance(60s);
  CHECK(world.executor().launches.size() == 2);
  CHECK(world.row(run).last_seq == parked_at);
  CHECK(world.state(run) == RunState::running);
  CHECK(world.executor().cancels.empty());
  world.replica().leases->offline = false;
  world.advance(10s);
  CHECK(world.executor().launches.size() == 3);
  world.executor().end("c");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
}

TEST_CASE("L21: slots of a parked run go back, and it gets some again when it resumes") {
  World world{1};
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  world.replica().leases->offline = true;
  world.advance(20s);
  world.executor().end("a");
  world.advance(6s);
  world.replica().leases->offline = false;
  world.advance(10s);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
  world.executor().end("b");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(world.count(world.replica().actors->colleagues.slot_broker, "free") == 1);
}

TEST_CASE("L5: a lost lease ends the actor, what runs goes on, and the run comes back by itself") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  world.replica().leases->loses_all = true;
  world.advance(6s);
  CHECK(world.replica().left.size() == 1);
  CHECK(world.executor().cancels.empty());
  world.replica().leases->loses_all = false;
  world.advance(5s);
  REQUIRE(world.runs(world.replica()).size() == 1);
  CHECK(world.row(run).term == Term{2});
  world.executor().end("a");
  world.run();
  world.executor().end("b");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
  CHECK(world.executor().launches.size() == 2);
}

TEST_CASE("L5: a replica that adopts only what it started takes its own run back") {
  World world;
  auto& host = world.add_replica("host", false);
  const auto run = World::value(world.start(pipeline("p", {external("gate")}), host)).row.run;
  world.run();
  world.replica().leases->offline = true;
  host.leases->loses_all = true;
  world.advance(6s);
  host.leases->loses_all = false;
  world.advance(6s);
  CHECK(world.runs(host).size() == 1);
  CHECK(world.row(run).term == Term{2});
}

TEST_CASE("leases are renewed only while the store answers: who cannot record lets them end") {
  World world;
  const RunId run = world.start(pipeline("p", {external("gate")}));
  world.advance(30s);
  auto& a = world.replica();
  const std::size_t renewed = a.leases->renewals.size();
  CHECK(renewed > 0);
  caf::anon_send_exit(a.actors->colleagues.store, caf::exit_reason::kill);
  world.advance(a.settings->lease_ttl);
  const std::size_t renewed_in_doubt = a.leases->renewals.size();
  CHECK(renewed_in_doubt > renewed);
  world.advance(a.settings->lease_ttl * 3);
  CHECK(a.leases->renewals.size() <= renewed_in_doubt + 1);
  CHECK(world.count(a.actors->colleagues.lock_manager, "store_silent") > 0);
  auto& b = world.add_replica("b");
  world.advance(10s);
  CHECK(world.runs(b).size() == 1);
  CHECK(world.row(run).term == Term{2});
}

TEST_CASE("H8: of two replicas only one schedules a run, the other skips and counts it") {
  World world;
  auto& b = world.add_replica("b");
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.advance(60s);
  CHECK(world.runs(world.replica()).size() == 1);
  CHECK(world.runs(b).empty());
  CHECK(launches(world, 2) == 1);
  CHECK(world.count(b.actors->supervisor, "held_elsewhere") >= 11);
  CHECK(world.count(b.actors->supervisor, "adopted") == 0);
  CHECK(world.row(run).term == Term{1});
}

TEST_CASE("H9: passes per run and tick stay about 1 with 1, 2, 3 replicas") {
  for (const std::size_t replicas : {1U, 2U, 3U}) {
    CAPTURE(replicas);
    World world;
    for (std::size_t i = 1; i < replicas; ++i) {
      world.add_replica("more-" + std::to_string(i));
    }
    std::vector<RunId> runs;
    for (int i = 0; i < 10; ++i) {
      runs.push_back(world.start(pipeline("p" + std::to_string(i), {external("gate")})));
    }
    world.advance(5s);
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (const RunId& run : runs) {
      before += world.passes(run).tick;
    }
    world.advance(100s);
    for (const RunId& run : runs) {
      after += world.passes(run).tick;
    }
    CHECK(after - before >= 190);
    CHECK(after - before <= 210);
  }
}

TEST_CASE("P1: the runs of a holder that is gone are taken over within a ttl and a tick") {
  for (const bool is_proven : {true, false}) {
    CAPTURE(is_proven);
    World world{16, is_proven ? gone_process() : this_process()};
    auto& b = world.add_replica("b", false);
    const RunId run = world.start(pipeline("p", {external("gate")}));
    world.run();
    caf::anon_send(b.actors->supervisor, JoinRun{run});
    world.run();
    world.crash(world.replica());
    world.advance(is_proven ? 5s : 20s);
    CHECK(world.runs(b).size() == 1);
    CHECK(world.row(run).term >= Term{2});
  }
}

TEST_CASE("P3: two grants for one run: one term wins, the other's appends are refused") {
  World world;
  auto& b = world.add_replica("b", false);
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"}), task("c", {"a"})}));
  world.run();
  b.leases->grants_all = true;
  caf::anon_send(b.actors->supervisor, JoinRun{run});
  world.run();
  REQUIRE(world.runs(b).size() == 1);
  REQUIRE(world.runs(world.replica()).size() == 1);
  CHECK(world.row(run).term == Term{2});
  // The old holder decides that `b` and `c` are to be launched; its term no longer counts.
  world.executor().end("a");
  world.run();
  CHECK(world.executor().launches.size() == 1);
  CHECK(world.runs(world.replica()).empty());
  REQUIRE(world.replica().left.size() == 1);
  CHECK_FALSE(world.replica().left.front().reason.empty());
  CHECK(world.count(world.replica().actors->colleagues.lock_manager, "released") == 1);
  // The report that it could not record reaches the one whose term counts.
  world.replica().leases->offline = true;
  world.deliver_nudges();
  CHECK(b.executor.launched_nodes() == std::vector<std::string>{"b", "c"});
  CHECK(count_of<AttemptSubmitted>(world.events(run)) == 3);
}

TEST_CASE(
    "T5: let go between the commit of a launch and its hand-over: launched once, by the next") {
  World world;
  auto& b = world.add_replica("b", false);
  const RunId run = world.start(pipeline("p", {external("gate"), task("a", {"gate"})}));
  world.run();
  const PipelineHandle actor = world.actor_of(run);
  caf::anon_send(b.actors->supervisor, JoinRun{run});
  World::value(b.store->write({PutInbox{.run = run,
                                        .message = NodeDoneInput{.node = "gate", .outcome = {}},
                                        .at = world.clock().wall()}}));
  world.run();
  REQUIRE(world.executor().launches.empty());
  // The loss is in the mailbox before the answer of the store.
  world.replica().store->on_write = [&](const Write& write) {
    const auto* append = std::get_if<AppendPass>(&write);
    if (append != nullptr && count_of<AttemptSubmitted>(append->events) > 0) {
      caf::anon_send(actor, LeaseGone{});
    }
  };
  world.replica().leases->loses_all = true;
  caf::anon_send(actor, LookIntoInbox{});
  world.run();
  REQUIRE(count_of<AttemptSubmitted>(world.events(run)) == 1);
  REQUIRE(world.executor().launches.empty());
  world.replica().leases->offline = true;
  world.advance(10s);
  CHECK(b.executor.launched_nodes() == std::vector<std::string>{"a"});
  CHECK(world.nodes(run, NodeState::unreachable) == 0);
  b.executor.end("a");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
}

TEST_CASE("P4: a drain interrupts attempts, which uses up nothing, and another replica goes on") {
  World world;
  auto& b = world.add_replica("b");
  auto node = task("a");
  node.retry = {.attempts_max = 1, .lost_max = 0};
  const RunId run = world.start(pipeline("p", {node, external("gate")}));
  world.run();
  world.drain(world.replica(), 2s);
  CHECK(world.executor().cancels.empty());
  CHECK(world.runs(world.replica()).size() == 1);
  world.advance(2s);
  REQUIRE(world.executor().cancels.size() == 1);
  CHECK(world.executor().cancels.front().reason == CancelReason::drain);
  world.executor().end("a", {.kind = OutcomeKind::interrupted, .error = "interrupted"});
  world.run();
  CHECK(world.runs(world.replica()).empty());
  CHECK(world.state(run) == RunState::running);
  CHECK(world.replica().leases->holders({run})->front().incarnation.empty());
  CHECK(world.count(world.replica().actors->colleagues.slot_broker, "free") == 16);
  world.advance(5s);
  REQUIRE(b.executor.launches.size() == 1);
  CHECK(b.executor.launches.front().key.attempt == Attempt{2});
  b.executor.end("a");
  World::value(world.put(run, NodeDoneInput{.node = "gate", .outcome = {}}, b));
  CHECK(world.state(run) == RunState::succeeded);
}

TEST_CASE("P4: a drain launches nothing more, even what was being recorded when it came") {
  World world;
  const RunId run = world.start(pipeline("p", {external("gate"), task("a", {"gate"})}));
  world.run();
  auto& member = world.replica();
  member.store->on_write = [&](const Write& write) {
    if (std::holds_alternative<AppendPass>(write)) {
      caf::anon_send(member.actors->supervisor, Drain{0s});
      member.store->on_write = [](const Write&) {};
    }
  };
  World::value(world.put(run, NodeDoneInput{.node = "gate", .outcome = {}}));
  world.advance(1s);
  CHECK(world.executor().launches.empty());
  CHECK(world.runs(member).empty());
  CHECK(world.nodes(run, NodeState::ready) == 1);
}

TEST_CASE(
    "T10: a pause between lease and term: none is opened, the rightful holder keeps working") {
  World world;
  auto& b = world.add_replica("b", false);
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  b.leases->grants_all = true;
  b.leases->on_acquired = [&] {
    if (std::exchange(b.leases->grants_all, false)) {
      world.stand_still(8s);
    }
  };
  caf::anon_send(b.actors->supervisor, JoinRun{run});
  world.run();
  CHECK(world.runs(b).empty());
  CHECK(world.row(run).term == Term{1});
  CHECK(world.count(b.actors->colleagues.lock_manager, "released") == 1);
  world.executor().end("a");
  world.run();
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("T2: a deadline and a stop act while runs are parked, and no run fails by that") {
  World world;
  auto late = task("late");
  late.timeout = 20s;
  late.retry.attempts_max = 2;
  const RunId timed = world.start(pipeline("timed", {late}));
  const RunId stopped = world.start(pipeline("stopped", {task("work"), task("more", {"work"})}));
  world.run();
  world.executor().report(world.executor().launches.front().key, SaysRunning{});
  world.advance(1s);
  world.replica().leases->offline = true;
  world.advance(18s);
  CHECK_FALSE(world.row(timed).parked.empty());
  CHECK_FALSE(world.row(stopped).parked.empty());
  CHECK(world.executor().cancels.empty());

  world.advance(10s);
  REQUIRE_FALSE(world.executor().cancels.empty());
  for (const Cancel& cancel : world.executor().cancels) {
    CHECK(cancel.key.run == timed);
    CHECK(cancel.reason == CancelReason::timeout);
  }
  world.executor().cancels.clear();
  CHECK(World::value(world.put(stopped, StopInput{"stop"})).is_stored());
  const auto& cancels = world.executor().cancels;
  CHECK(std::any_of(cancels.begin(), cancels.end(), [&](const Cancel& cancel) {
    return cancel.key.run == stopped && cancel.reason == CancelReason::stop;
  }));
  const Seq parked_at = world.row(timed).last_seq;
  world.executor().end("late", {.kind = OutcomeKind::timed_out});
  world.executor().end("work", {.kind = OutcomeKind::stopped});
  world.advance(30s);
  CHECK(world.row(timed).last_seq == parked_at);
  CHECK(world.state(stopped) == RunState::running);

  world.replica().leases->offline = false;
  world.advance(15s);
  CHECK(world.state(stopped) == RunState::stopped);
  CHECK(world.row(timed).parked.empty());
  CHECK(world.state(timed) == RunState::running);
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"late", "work", "late"});
}

TEST_CASE("L21: what is started while leases are out of reach waits, says why, and goes on") {
  World world;
  world.replica().leases->offline = true;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.advance(12s);
  CHECK(world.executor().launches.empty());
  CHECK(contains(world.row(run).parked, "reach the lease store"));
  const auto condition = world.ask<Condition>(world.replica().actors->supervisor, ConditionOf{run});
  CHECK(condition.parked == world.row(run).parked);
  CHECK(world.count(world.replica().actors->colleagues.lock_manager, "unavailable_now") == 1);
  world.replica().leases->offline = false;
  world.advance(6s);
  CHECK(world.executor().launches.size() == 1);
  CHECK(world.row(run).parked.empty());
}

TEST_CASE("L17: an outage under 1,000 leases: few lines, and renewals spread again afterwards") {
  std::ostringstream lines;
  auto& sinks = stagecall::log().sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
  World world;
  for (int i = 0; i < 1'000; ++i) {
    world.start(pipeline("p" + std::to_string(i), {external("gate")}));
  }
  world.advance(6s);
  for (const Duration outage : {Duration{10s}, Duration{60s}}) {
    CAPTURE(outage.count());
    world.replica().leases->offline = true;
    world.advance(outage);
    world.replica().leases->offline = false;
    world.advance(15s);
    world.replica().leases->renewals.clear();
    world.advance(15s);
    REQUIRE(world.runs(world.replica()).size() == 1'000);
    const auto& renewals = world.replica().leases->renewals;
    CHECK(std::accumulate(renewals.begin(), renewals.end(), std::size_t{0}) >= 2'000);
    CHECK(*std::max_element(renewals.begin(), renewals.end()) < 400);
  }
  sinks.pop_back();
  const std::string text = lines.str();
  CHECK(std::count(text.begin(), text.end(), '\n') < 100);
  CHECK(contains(text, "leases_unavailable leases=1000"));
  CHECK(contains(text, "leases_available"));
}
