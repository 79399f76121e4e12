// R18: what a rerun takes over, and what it does with it.
#include "core/rerun.hpp"

#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecall::testing {
namespace {

std::vector<NodeCarried> carried_by(const Run& run) {
  const auto carried = carry_over(run.state());
  REQUIRE(carried.has_value());
  return *carried;
}

Run rerun_of(const Run& earlier, RunOptions options = {}) {
  options.carried = carried_by(earlier);
  return Run{earlier.definition()->spec(), options};
}

std::string refusal(const Run& run) {
  const auto carried = carry_over(run.state());
  REQUIRE_FALSE(carried.has_value());
  CHECK(carried.error().code == ErrorCode::invalid_argument);
  return carried.error().message;
}

/// As the history would have it, with this event behind the start.
std::optional<std::string> objection_to(const Run& run, const NodeCarried& event) {
  Pass first = run.history().front();
  first.events.push_back(event);
  PipelineState state{run.definition()};
  return state.try_apply(first);
}

}  // namespace

TEST_CASE("R18: a rerun runs what failed and what lies behind, numbers go on, budgets are fresh") {
  PipelineSpec spec = pipeline({task("a"), task("b", {"a"}), task("c", {"b"}), task("d", {"a"})});
  spec.nodes[1].retry = {.attempts_max = 2, .delay = 1s};
  Run first{spec};
  first.end("a", succeeded());
  first.pass({first.end_of("b", failed()), first.end_of("d", succeeded())});
  first.advance(1s);
  first.tick();
  first.end("b", failed());
  REQUIRE(first.result() == RunState::failed);

  Run again = rerun_of(first);
  CHECK(again.state_of("a") == NodeState::succeeded);
  CHECK(again.state_of("d") == NodeState::succeeded);
  CHECK(again.record("a").attempt == Attempt{1});
  CHECK(again.state_of("b") == NodeState::submitted);
  CHECK(again.record("b").attempt == Attempt{3});
  again.end("b", failed());
  CHECK(again.state_of("b") == NodeState::backoff);  // one more is allowed, as at first
  again.advance(1s);
  again.tick();
  again.end("b", succeeded());
  CHECK(again.record("c").attempt == Attempt{1});
  again.end("c", succeeded());
  CHECK(again.result() == RunState::succeeded);
  CHECK(again.launches() == 3);
  again.prove();
}

TEST_CASE("R18: a rerun of a rerun goes on from there") {
  Run first{chain(2)};
  first.end("n0", failed());
  Run second = rerun_of(first);
  second.end("n0", succeeded());
  second.end("n1", failed());
  Run third = rerun_of(second);
  CHECK(third.record("n0").attempt == Attempt{2});
  CHECK(third.record("n1").attempt == Attempt{2});
  CHECK(third.launches("n0") == 0);
  third.end("n1", succeeded());
  CHECK(third.result() == RunState::succeeded);
  third.prove();
}

TEST_CASE(
    "a clean-up behind a node that runs again runs again, one that waits for failure may not") {
  PipelineSpec spec =
      pipeline({task("bad"), task("good"), task("clean", {"bad", "good"}), task("alarm", {"bad"})});
  spec.nodes[2].trigger = Trigger::all_finished;
  spec.nodes[3].trigger = Trigger::any_failed;
  Run first{spec};
  first.pass({first.end_of("bad", failed()), first.end_of("good", succeeded())});
  first.pass({first.end_of("clean", succeeded()), first.end_of("alarm", succeeded())});
  Run again = rerun_of(first);
  CHECK(again.state_of("good") == NodeState::succeeded);
  CHECK(again.state_of("clean") == NodeState::blocked);
  CHECK(again.state_of("alarm") == NodeState::blocked);
  again.end("bad", succeeded());
  CHECK(again.state_of("alarm") == NodeState::skipped);
  CHECK(again.record("clean").attempt == Attempt{2});
  again.end("clean", succeeded());
  CHECK(again.result() == RunState::succeeded);
  again.prove();
}

TEST_CASE("joins and external nodes are carried, and those that are not go on counting") {
  Run first{pipeline({external("approve"), external("sign"), join("both", {"approve"}),
                      task("work", {"both"}), external("last", {"approve"})})};
  first.done("approve", succeeded());
  first.pass({NodeDoneInput{.node = "sign", .outcome = failed()},
              NodeDoneInput{.node = "last", .outcome = failed()},
              first.end_of("work", succeeded())});
  REQUIRE(first.result() == RunState::failed);
  Run again = rerun_of(first);
  CHECK(again.state_of("approve") == NodeState::succeeded);
  CHECK(again.state_of("both") == NodeState::succeeded);
  CHECK(again.state_of("work") == NodeState::succeeded);
  CHECK(again.record("sign").attempt == Attempt{2});
  CHECK(again.record("last").attempt == Attempt{2});
  CHECK(again.launches() == 0);
  again.pass({NodeDoneInput{.node = "sign", .attempt = Attempt{1}, .outcome = failed()}});
  CHECK(again.state_of("sign") == NodeState::running);  // a report of the earlier run
  again.pass({NodeDoneInput{.node = "sign", .attempt = Attempt{2}, .outcome = succeeded()},
              NodeDoneInput{.node = "last", .outcome = succeeded()}});
  CHECK(again.result() == RunState::succeeded);
  again.prove();
}

TEST_CASE("a stopped run is run again where it stopped, without a holder too") {
  Run first{chain(3)};
  first.end("n0", succeeded());
  first.stop();
  first.end("n1", of_kind(OutcomeKind::stopped));
  REQUIRE(first.result() == RunState::stopped);
  Run again = rerun_of(first, {.holder = std::nullopt, .slots = 0});
  CHECK(again.result() == RunState::queued);
  CHECK(again.state_of("n1") == NodeState::ready);
  CHECK(again.record("n1").carried == Attempt{1});
  again.set_slots(1);
  again.restart(replica("b"));
  CHECK(again.record("n1").attempt == Attempt{2});
  again.prove();
}

TEST_CASE("there is nothing to run again in a run that lives or succeeded") {
  PipelineSpec spec = pipeline({task("a"), task("alarm", {"a"})});
  spec.nodes[1].trigger = Trigger::any_failed;
  Run run{std::move(spec)};
  CHECK(refusal(run).starts_with("it is running: only a run that has ended"));
  run.end("a", succeeded());
  REQUIRE(run.count(NodeState::skipped) == 1);
  CHECK(refusal(run).starts_with("it has succeeded: no node failed"));
}

TEST_CASE("a carried node is refused where it does not belong") {
  const Run run{chain(3), {.holder = std::nullopt, .first_pass = false}};
  const auto objects = [&run](const NodeCarried& event) {
    const auto objection = objection_to(run, event);
    return objection && objection->find("carried") != std::string::npos;
  };
  CHECK_FALSE(objects({NodeIndex{0}, Attempt{1}, true}));
  CHECK_FALSE(objects({NodeIndex{1}, Attempt{7}, false}));
  CHECK(objects({NodeIndex{1}, Attempt{1}, true}));   // not all before it
  CHECK(objects({NodeIndex{0}, Attempt{0}, false}));  // for nothing
  CHECK(objection_to(run, {NodeIndex{9}, Attempt{1}, true}));

  Run later{chain(3)};
  Pass late = later.history().back();
  late.seq.value += 1;
  late.events = {NodeCarried{NodeIndex{0}, Attempt{1}, true}};
  CHECK(later.fold()->try_apply(late)->find("carried too late") != std::string::npos);

  Run first{chain(3)};
  first.end("n0", failed());
  Run twice = rerun_of(first);
  CHECK(objection_to(twice, {NodeIndex{0}, Attempt{1}, false}));
}

}  // namespace stagecall::testing
