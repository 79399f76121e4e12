// Nodes that somebody outside ends, and what an operator may force.
#include "core/admission.hpp"
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

ErrorCode refusal(const Run& run, const NodeDoneInput& input) {
  const auto admitted = admit_node_done(run.state(), input, false);
  REQUIRE_FALSE(admitted);
  CHECK(admitted.error().message.find(input.node) != std::string::npos);
  return admitted.error().code;
}

/// The attempt that a report ends; none: it changes nothing.
std::optional<Attempt> ended_by(const Run& run, const NodeDoneInput& input,
                                bool is_repeat = false) {
  const auto admitted = admit_node_done(run.state(), input, is_repeat);
  REQUIRE(admitted);
  return *admitted;
}

PipelineSpec approval() {
  return pipeline({task("a"), external("ask", {"a"}), task("z", {"ask"})});
}

}  // namespace

TEST_CASE("T3: an approval waits over three restarts and a hand-over") {
  Run run{approval()};
  run.end("a", succeeded());
  for (const std::string holder : {"b", "c", "d", "a"}) {
    run.advance(24h);
    run.restart(replica(holder));
    CHECK(run.state_of("ask") == NodeState::running);
    CHECK(run.record("ask").attempt == Attempt{1});
    CHECK(run.effects().empty());
    CHECK_FALSE(run.due());
  }
  run.done("ask", succeeded());
  CHECK(run.state_of("z") == NodeState::submitted);
  CHECK(run.launches("ask") == 0);
  run.prove();
}

TEST_CASE("T3: done while blocked, or for a command node: refused, named, changes nothing") {
  Run run{approval()};
  CHECK(refusal(run, {.node = "ask", .outcome = succeeded()}) == ErrorCode::not_waiting);
  CHECK(refusal(run, {.node = "a", .outcome = succeeded()}) == ErrorCode::not_external);
  CHECK(refusal(run, {.node = "nobody", .outcome = succeeded()}) == ErrorCode::not_found);
  run.done("ask", succeeded());
  run.done("a", succeeded());
  run.done("nobody", succeeded());
  CHECK(run.history().size() == 2);
  run.end("a", succeeded());
  CHECK(ended_by(run, {.node = "ask", .outcome = succeeded()}) == Attempt{1});
  CHECK(refusal(run, {.node = "ask", .attempt = Attempt{2}, .outcome = succeeded()}) ==
        ErrorCode::old_attempt);
  run.done("ask", succeeded());
  CHECK(refusal(run, {.node = "ask", .outcome = failed()}) == ErrorCode::not_waiting);
  run.prove();
}

TEST_CASE("a report that is repeated, or comes after the run's end, changes nothing") {
  Run run{pipeline({external("ask"), external("last", {"ask"})})};
  run.done("ask", succeeded());
  const NodeDoneInput again{.node = "ask", .outcome = succeeded()};
  CHECK(refusal(run, again) == ErrorCode::not_waiting);
  CHECK(ended_by(run, again, true) == std::nullopt);
  run.done("last", succeeded());
  REQUIRE(is_terminal(run.state().run().state));
  CHECK(ended_by(run, again) == std::nullopt);
  CHECK(refusal(run, {.node = "nobody", .outcome = succeeded()}) == ErrorCode::not_found);
  CHECK(refusal(run, {.node = "ask", .outcome = {.kind = OutcomeKind::lost}}) ==
        ErrorCode::invalid_argument);
  CHECK(refusal(run, {.node = "ask", .outcome = succeeded(), .force_reason = ""}) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("done and then failed for an external node: the first wins") {
  Run run{approval()};
  run.end("a", succeeded());
  run.pass({NodeDoneInput{.node = "ask", .outcome = succeeded()},
            NodeDoneInput{.node = "ask", .outcome = failed()}});
  CHECK(run.state_of("ask") == NodeState::succeeded);
}

TEST_CASE("an external node that failed opens again after its backoff, as its next attempt") {
  PipelineSpec spec = approval();
  spec.nodes[1].retry = {.attempts_max = 2, .delay = Duration{1'000}};
  Run run{std::move(spec)};
  run.end("a", succeeded());
  run.done("ask", failed());
  CHECK(run.state_of("ask") == NodeState::backoff);
  run.advance(1s);
  run.tick();
  CHECK(run.state_of("ask") == NodeState::running);
  CHECK(run.record("ask").attempt == Attempt{2});
  run.pass({NodeDoneInput{.node = "ask", .attempt = Attempt{1}, .outcome = succeeded()}});
  CHECK(run.events().empty());
  run.pass({NodeDoneInput{.node = "ask", .attempt = Attempt{2}, .outcome = failed()}});
  CHECK(run.result() == RunState::failed);
  CHECK(run.launches("ask") == 0);
  run.prove();
}

TEST_CASE("R24: an external node's timeout fires") {
  PipelineSpec spec = approval();
  spec.nodes[1].timeout = 90min;
  Run run{std::move(spec)};
  run.end("a", succeeded());
  CHECK(run.due() == run.now() + 90min);
  run.advance(90min);
  run.tick();
  CHECK(run.result() == RunState::failed);
  CHECK(run.state().failures().front().outcome.error == "timed out after 1h30m");
  run.prove();
}

TEST_CASE("only succeeded and failed are told from outside, no executor speaks for an external") {
  Run run{approval()};
  run.end("a", succeeded());
  for (const OutcomeKind kind :
       {OutcomeKind::timed_out, OutcomeKind::lost, OutcomeKind::stopped, OutcomeKind::rejected,
        OutcomeKind::not_launched, OutcomeKind::interrupted}) {
    const NodeDoneInput odd{.node = "ask", .outcome = of_kind(kind)};
    CHECK(refusal(run, odd) == ErrorCode::invalid_argument);
    run.pass({odd});
    CHECK(run.events().empty());
  }
  const AttemptNews news[] = {SaysUnknown{}, SaysAbsent{.proven = true},
                              SaysEnded{of_kind(OutcomeKind::not_launched), {}}};
  for (const AttemptNews& one : news) {
    run.report("ask", one);
    CHECK(run.events().empty());
  }
  CHECK(run.state_of("ask") == NodeState::running);
}

TEST_CASE("a forced node ends whatever its state, and its attempt is told to end") {
  Run run{chain(3)};
  run.force("n2", succeeded());
  CHECK(run.state_of("n2") == NodeState::succeeded);
  run.force("n0", succeeded());
  const auto cancels = run.effects_of<CancelEffect>();
  REQUIRE(cancels.size() == 1);
  CHECK(cancels.front().node == run.index("n0"));
  CHECK(run.state().run().slots_busy == 1);
  CHECK(run.state_of("n1") == NodeState::submitted);
  run.force("n1", failed());
  CHECK(run.state().run().slots_busy == 0);
  CHECK(run.state_of("n2") == NodeState::succeeded);
  CHECK(run.result() == RunState::failed);
  run.prove();
}

TEST_CASE("a node is forced in each of its open states") {
  for (const Outcome& outcome : {succeeded(), failed()}) {
    PipelineSpec spec = pipeline({task("ready"), task("run"), task("gone"), task("back"),
                                  task("sent"), external("ask"), task("blocked", {"run"})});
    spec.nodes[0].priority = -1;
    spec.nodes[3].retry.attempts_max = 2;
    Run run{std::move(spec), {.slots = 4}};
    run.pass({run.report_of("run", SaysRunning{}), run.report_of("gone", SaysUnknown{})});
    run.set_slots(0);
    run.end("back", failed());
    CHECK(run.state_of("ready") == NodeState::ready);
    CHECK(run.state_of("gone") == NodeState::unreachable);
    CHECK(run.state_of("back") == NodeState::backoff);
    for (const std::string id : {"blocked", "ready", "run", "gone", "back", "sent", "ask"}) {
      run.force(id, outcome);
      CHECK(is_terminal(run.state_of(id)));
    }
    CHECK(run.result() == (outcome == succeeded() ? RunState::succeeded : RunState::failed));
    run.prove();
  }
}

TEST_CASE("a forced end that names another attempt changes nothing") {
  Run run{chain(1)};
  run.pass({NodeDoneInput{
      .node = "n0", .attempt = Attempt{7}, .outcome = failed(), .force_reason = "late"}});
  CHECK(run.events().empty());
}

}  // namespace stagecall::testing
