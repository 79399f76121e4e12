// Why a node does not run: for each state that is not running, the right reason.
#include "core/explain.hpp"

#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

using Names = std::vector<std::string>;

NodeExplanation why(const Run& run, const std::string& id, ExplainContext context = {}) {
  context.now = run.now();
  const auto told = explain(run.state(), context, run.index(id));
  REQUIRE(told.size() == 1);
  CHECK(told.front().node == id);
  CHECK(told.front().state == run.state_of(id));
  CHECK_FALSE(told.front().text.empty());
  return told.front();
}

WaitReason reason(const Run& run, const std::string& id, ExplainContext context = {}) {
  return why(run, id, std::move(context)).reason;
}

bool says(const NodeExplanation& told, const std::string& part) {
  return told.text.find(part) != std::string::npos;
}

PipelineSpec with_trigger(Trigger trigger) {
  PipelineSpec spec = pipeline({task("a"), task("b"), task("c", {"b", "a", "a"})});
  spec.nodes[2].trigger = trigger;
  return spec;
}

}  // namespace

TEST_CASE("explain: a blocked node waits for those before it that have not ended") {
  for (const auto& [trigger, part] : {std::pair{Trigger::all_succeeded, "to succeed"},
                                      {Trigger::all_finished, "to end"},
                                      {Trigger::any_failed, "to fail: it runs only then"}}) {
    Run run{with_trigger(trigger)};
    NodeExplanation told = why(run, "c");
    CHECK(told.reason == WaitReason::dependency);
    CHECK(told.culprits == Names{"a", "b"});
    CHECK(says(told, R"("a" (submitted), "b" (submitted))"));
    CHECK(says(told, part));
    run.end("a", succeeded());
    told = why(run, "c");
    CHECK(told.culprits == Names{"b"});
    run.prove();
  }
}

TEST_CASE("explain: of many culprits the first 20 are listed, the first three named") {
  const Run run{fan(30)};
  const NodeExplanation told = why(run, "end");
  CHECK(told.culprits.size() == 20);
  CHECK(told.culprits.front() == "n0");
  CHECK(says(told, R"("n2" (blocked) and others to succeed)"));
}

TEST_CASE("explain: a ready node is held back by its run first, then by slots") {
  PipelineSpec spec = pipeline({task("first"), task("second")});
  spec.nodes[1].slots = 2;
  Run run{std::move(spec), {.slots = 2}};
  REQUIRE(run.state_of("second") == NodeState::submitted);
  REQUIRE(run.state_of("first") == NodeState::ready);

  const NodeExplanation told = why(run, "first", {.slots_free = 0});
  CHECK(told.reason == WaitReason::slot);
  CHECK(told.culprits == Names{"second"});
  CHECK(says(told, "it waits for a slot; this run uses 2, 0 are free"));
  CHECK(says(why(run, "first", {.slots_free = 1, .slots_contended = true}), "others wait too"));

  // Each of these outweighs what follows it.
  ExplainContext context{.holder = "there", .slots_free = 3};
  CHECK(reason(run, "first", context) == WaitReason::none);
  context.trusted_until = run.now();
  CHECK(reason(run, "first", context) == WaitReason::lease);
  context.trusted_until = run.now() + 1s;
  CHECK(reason(run, "first", context) == WaitReason::none);
  context.is_draining = true;
  CHECK(says(why(run, "first", context), "there starts nothing more and lets go of the run"));
  CHECK(reason(run, "first", context) == WaitReason::lease);
  context.parked = "its store is silent";
  CHECK(says(why(run, "first", context), "there has parked the run: its store is silent"));
  CHECK(reason(run, "first", context) == WaitReason::lease);
  context.holder = "";
  CHECK(says(why(run, "first", context), "nobody schedules the run"));
  CHECK(reason(run, "first", context) == WaitReason::lease);
  context.without_executor = {run.index("first")};
  CHECK(reason(run, "first", context) == WaitReason::task_missing);
  context.quarantined = "it threw";
  CHECK(says(why(run, "first", context), "left alone: it threw"));
  CHECK(reason(run, "first", context) == WaitReason::quarantine);
}

TEST_CASE("explain: slots of which nothing is known are no reason, a silent holder is") {
  Run run{pipeline({task("a")}), {.slots = 0}};
  const NodeExplanation told = why(run, "a", {.holder = "there"});
  CHECK(told.reason == WaitReason::lease);
  CHECK(told.text == "there schedules the run and does not answer now");
  CHECK(told.culprits.empty());
  CHECK(reason(run, "a") == WaitReason::lease);
  CHECK(why(run, "a").text == "nobody who schedules the run answers now");
}

TEST_CASE("explain: T13: a node without an executor waits for somebody who has one") {
  Run run{pipeline({task("a"), task("b")}), {.slots = 0}};
  const ExplainContext context{.holder = "", .without_executor = {run.index("b")}};
  CHECK(reason(run, "a", context) == WaitReason::lease);
  CHECK(reason(run, "b", context) == WaitReason::task_missing);
}

TEST_CASE("explain: a node in backoff waits until a moment, then for its run") {
  PipelineSpec spec = pipeline({task("a")});
  spec.nodes[0].retry = {.attempts_max = 2, .delay = 10s};
  Run run{std::move(spec)};
  run.end("a", failed());
  run.advance(4s);
  const NodeExplanation told = why(run, "a", {.holder = ""});
  CHECK(told.reason == WaitReason::backoff);
  CHECK(told.until == run.now() + 6s);
  CHECK(told.text == "attempt 1 failed; the next one is due in 6s");
  run.advance(6s);
  CHECK(reason(run, "a", {.holder = ""}) == WaitReason::lease);
  CHECK(reason(run, "a", {.holder = "there", .slots_free = 0}) == WaitReason::none);
}

TEST_CASE("explain: what its executor has not begun, what runs, what somebody outside ends") {
  PipelineSpec spec = pipeline({task("a"), external("ask")});
  spec.nodes[0].timeout = 1min;
  spec.nodes[1].timeout = 1h;
  Run run{std::move(spec)};
  const WallTime start = run.now();
  CHECK(why(run, "a").reason == WaitReason::executor);
  CHECK(why(run, "a").until == start + 1min);
  CHECK(why(run, "ask").reason == WaitReason::external);
  CHECK(why(run, "ask").until == start + 1h);
  run.report("a", SaysRunning{});
  run.advance(5s);
  CHECK(reason(run, "a") == WaitReason::none);
  CHECK(why(run, "a").text == "attempt 1 runs for 5s");
}

TEST_CASE("explain: an attempt out of sight names who launched it") {
  Run run{pipeline({task("a"), task("b")})};
  run.report("a", SaysUnknown{});
  run.report("b", SaysAbsent{});
  REQUIRE(run.state_of("a") == NodeState::unreachable);
  CHECK(why(run, "a").reason == WaitReason::custodian);
  CHECK(says(why(run, "a"), "a (pid 1 on host-a) launched attempt 1 and cannot be asked"));
  CHECK(why(run, "b").reason == WaitReason::custodian);
  CHECK(why(run, "b").until == run.now() + 30s);
  CHECK(says(why(run, "b"), "counts as lost in 30s"));
}

TEST_CASE("explain: what was told to end, by a stop or by its timeout") {
  PipelineSpec spec = pipeline({task("slow"), task("other")});
  spec.nodes[0].timeout = 1s;
  Run run{std::move(spec)};
  run.report("slow", SaysRunning{});
  run.advance(1s);
  run.tick();
  const NodeExplanation told = why(run, "slow");
  CHECK(told.reason == WaitReason::stopping);
  CHECK(told.until > run.now());
  CHECK(says(told, "its time being over"));
  run.stop();
  CHECK(why(run, "other").reason == WaitReason::stopping);
  CHECK_FALSE(says(why(run, "other"), "its time being over"));
}

TEST_CASE("explain: a skipped node names the failures at the root, however deep") {
  PipelineSpec spec = chain(2'000);
  spec.nodes.push_back(task("bad"));
  spec.nodes.push_back(task("end", {"n1999", "bad"}));
  Run run{std::move(spec)};
  run.pass({run.end_of("n0", failed()), run.end_of("bad", failed("exit 3"))});
  CHECK(why(run, "n1999").reason == WaitReason::dependency);
  CHECK(why(run, "n1999").culprits == Names{"n0"});
  const NodeExplanation told = why(run, "end");
  CHECK(told.culprits == Names{"n0", "bad"});
  CHECK(says(told, R"("n0" (failed), "bad" (failed))"));
  CHECK(why(run, "bad").reason == WaitReason::finished);
  CHECK(says(why(run, "bad"), "attempt 1 ended failed: exit 3"));
  CHECK(explain(run.state(), {.now = run.now()}).size() == 2'002);
}

TEST_CASE("explain: skipped for want of a failure, and what was skipped behind that") {
  PipelineSpec spec = pipeline({task("a"), task("alarm", {"a"}), task("behind", {"alarm"})});
  spec.nodes[1].trigger = Trigger::any_failed;
  Run run{std::move(spec)};
  run.end("a", succeeded());
  CHECK(why(run, "alarm").reason == WaitReason::dependency);
  CHECK(why(run, "alarm").culprits.empty());
  CHECK(says(why(run, "alarm"), "nothing before it failed"));
  CHECK(why(run, "behind").culprits == Names{"alarm"});
}

TEST_CASE("explain: a stopped node tells what stopped its run") {
  Run asked{chain(2)};
  asked.stop();
  CHECK(why(asked, "n1").reason == WaitReason::stopping);
  CHECK(why(asked, "n1").text == "the run was stopped");

  PipelineSpec timed = chain(2);
  timed.timeout = 1s;
  Run late{std::move(timed)};
  late.advance(1s);
  late.tick();
  CHECK(why(late, "n1").text == "the time of the run was over");

  PipelineSpec strict = pipeline({task("bad"), task("good"), task("later", {"good"})});
  strict.on_failure = OnFailure::stop;
  Run failing{std::move(strict)};
  failing.end("bad", failed());
  CHECK(why(failing, "later").reason == WaitReason::stopping);
  CHECK(why(failing, "later").culprits == Names{"bad"});

  Run alone{pipeline({task("a")})};
  alone.end("a", of_kind(OutcomeKind::stopped));
  CHECK(why(alone, "a").reason == WaitReason::finished);
}

TEST_CASE("explain: without a node, all that neither run nor have succeeded, in order") {
  Run run{pipeline({task("done"), task("runs"), external("ask"), task("later", {"ask"})})};
  run.end("done", succeeded());
  run.report("runs", SaysRunning{});
  const auto told = explain(run.state(), {.now = run.now()});
  REQUIRE(told.size() == 2);
  CHECK(told[0].node == "ask");
  CHECK(told[1].node == "later");
  CHECK(reason(run, "done") == WaitReason::none);
}

TEST_CASE("R24: running nodes are told with their age, the oldest first, at most 100") {
  Run run{fan(150)};
  run.report("root", SaysRunning{});
  run.advance(3s);
  CHECK(running_nodes(run.state(), run.now()) ==
        std::vector<RunningNode>{{"root", Attempt{1}, 3s}});
  CHECK(running_nodes(run.state(), run.now() - 1min).front().age == Duration{0});
  run.end("root", succeeded());
  run.report("n149", SaysRunning{});
  run.advance(1s);
  for (int i = 0; i < 149; ++i) {
    run.report("n" + std::to_string(i), SaysRunning{});
  }
  const auto running = running_nodes(run.state(), run.now());
  REQUIRE(running.size() == 100);
  CHECK(running[0].node == "n149");
  CHECK(running[1].node == "n0");
}

}  // namespace stagecall::testing
