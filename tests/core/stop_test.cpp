// Stops: on request, behind a failure, by the run's timeout; and what an unwilling executor does.
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {

TEST_CASE("R4: a stop before any pass stops everything") {
  Run run{diamond(), {.holder = std::nullopt, .first_pass = false}};
  CHECK(run.result() == RunState::queued);
  run.stop();
  CHECK(run.count(NodeState::stopped) == 4);
  CHECK(run.result() == RunState::stopped);
  CHECK(run.launches() == 0);
  run.prove();
}

TEST_CASE("R4: a second stop and a stop of what has ended change nothing") {
  Run run{chain(2)};
  run.stop();
  CHECK(run.effects_of<CancelEffect>().size() == 1);
  CHECK(run.result() == RunState::stopping);
  run.stop();
  CHECK(run.events().empty());
  CHECK(run.effects().empty());
  run.end("n0", of_kind(OutcomeKind::stopped));
  CHECK(run.result() == RunState::stopped);
  run.stop();
  CHECK(run.events().empty());
  CHECK(run.result() == RunState::stopped);
}

TEST_CASE("R10: stop, crash, restart: the first pass tells each executor, nothing is resumed") {
  Run run{fan(3)};
  run.end("root", succeeded());
  run.report("n0", SaysRunning{});
  run.stop();
  CHECK(run.state_of("end") == NodeState::stopped);
  run.restart(replica("b"));
  const auto cancels = run.effects_of<CancelEffect>();
  REQUIRE(cancels.size() == 3);
  for (const CancelEffect& cancel : cancels) {
    CHECK(cancel.reason == CancelReason::stop);
    CHECK(cancel.nonce == run.state().node(cancel.node).nonce);
  }
  CHECK(run.effects_of<LaunchEffect>().empty());
  for (const std::string id : {"n0", "n1", "n2"}) {
    run.end(id, of_kind(OutcomeKind::stopped));
  }
  CHECK(run.result() == RunState::stopped);
  CHECK(run.launches() == 4);
  run.prove();
}

TEST_CASE("R15: done before, with and after a stop: downstream never starts") {
  for (const int order : {0, 1, 2}) {
    Run run{chain(3)};
    const Input done = run.end_of("n0", succeeded());
    const Input stop = StopInput{"asked"};
    if (order == 0) {
      run.pass({done, stop});
    } else if (order == 1) {
      run.pass({stop, done});
    } else {
      run.pass({stop});
      run.advance(100ms);
      run.pass({done});
    }
    CHECK(run.state_of("n0") == NodeState::succeeded);
    CHECK(run.state_of("n1") == NodeState::stopped);
    CHECK(run.state_of("n2") == NodeState::stopped);
    CHECK(run.launches() == 1);
    CHECK(run.result() == RunState::stopped);
    run.prove();
  }
}

TEST_CASE("R22: stop of 5,000 nodes, a crash half-way, restart: nothing starts") {
  Run run{layers(50, 100), {.slots = 40, .inspect = false}};
  for (int i = 0; i < 30; ++i) {
    run.end("l0_" + std::to_string(i), succeeded());
  }
  const std::size_t launched = run.launches();
  run.stop();
  CHECK(run.effects_of<CancelEffect>().size() == 40);
  for (int i = 30; i < 50; ++i) {
    run.end("l0_" + std::to_string(i), of_kind(OutcomeKind::stopped));
  }
  run.restart(replica("b"));
  CHECK(run.effects_of<CancelEffect>().size() == 20);
  for (int i = 50; i < 70; ++i) {
    run.end("l0_" + std::to_string(i), of_kind(OutcomeKind::stopped));
  }
  CHECK(run.launches() == launched);
  CHECK(run.result() == RunState::stopped);
  CHECK(broken_invariants(run.state()).empty());
  run.prove();
}

TEST_CASE("R20: an executor that never confirms: stopped within grace and two ticks, slot freed") {
  Run run{pipeline({task("a")}), {.slots = 1}};
  run.report("a", SaysRunning{});
  run.stop();
  CHECK(run.state().run().slots_busy == 1);
  run.advance(20s);
  run.tick();
  CHECK(run.state_of("a") == NodeState::stopped);
  CHECK(run.result() == RunState::stopped);
  CHECK(run.state().run().slots_busy == 0);
  const auto ended = run.events_of<AttemptEnded>();
  REQUIRE(ended.size() == 1);
  CHECK_FALSE(ended.front().confirmed);
  run.prove();
}

TEST_CASE("R20: a stop does not wait for an earlier timeout's leftovers") {
  PipelineSpec spec = pipeline({task("a")});
  spec.nodes[0].timeout = 1s;
  spec.nodes[0].retry.attempts_max = 2;
  Run run{std::move(spec)};
  run.advance(1s);
  run.tick();
  REQUIRE(run.record("a").ending == CancelReason::timeout);
  run.stop();
  run.advance(20s);
  run.tick();
  CHECK(is_terminal(run.result()));
}

TEST_CASE("on_failure stop: the rest is stopped at once, what runs is told") {
  PipelineSpec spec = pipeline({task("bad"), task("behind", {"bad"}), task("runs"), task("later")});
  spec.on_failure = OnFailure::stop;
  spec.nodes[3].after = {"runs"};
  Run run{std::move(spec)};
  run.end("bad", failed());
  CHECK(run.state_of("behind") == NodeState::stopped);
  CHECK(run.state_of("later") == NodeState::stopped);
  const auto cancels = run.effects_of<CancelEffect>();
  REQUIRE(cancels.size() == 1);
  CHECK(cancels.front().node == run.index("runs"));
  CHECK(cancels.front().reason == CancelReason::stop);
  run.end("runs", of_kind(OutcomeKind::stopped));
  CHECK(run.result() == RunState::failed);
  run.prove();
}

TEST_CASE("on_failure stop lets no other node of the pass retry or start") {
  PipelineSpec spec = pipeline({task("bad"), task("other"), task("wait")});
  spec.on_failure = OnFailure::stop;
  spec.nodes[1].retry.attempts_max = 5;
  spec.nodes[2].after = {"other"};
  Run run{std::move(spec)};
  run.pass({run.end_of("bad", failed()), run.end_of("other", failed())});
  CHECK(run.state_of("other") == NodeState::failed);
  CHECK(run.result() == RunState::failed);
  run.prove();
}

TEST_CASE("deadlines that pass together with a failure that stops the run are legal") {
  PipelineSpec spec = pipeline({external("ask"), task("retried"), task("late"), task("waits")});
  spec.on_failure = OnFailure::stop;
  spec.nodes[0].timeout = 1s;
  spec.nodes[1].retry = {.attempts_max = 2, .delay = Duration{1'000}};
  spec.nodes[2].timeout = 1s;
  spec.nodes[3].after = {"late"};
  Run run{std::move(spec)};
  run.end("retried", failed());
  REQUIRE(run.state_of("retried") == NodeState::backoff);
  run.advance(1s);
  run.tick();
  CHECK(run.state_of("ask") == NodeState::failed);
  CHECK(run.state_of("retried") == NodeState::stopped);
  CHECK(run.record("late").ending == CancelReason::stop);
  CHECK(run.effects_of<CancelEffect>().size() == 1);
  run.end("late", of_kind(OutcomeKind::stopped));
  CHECK(run.result() == RunState::failed);
  run.prove();
}

TEST_CASE("R11: a run's timeout fires despite many passes, after partial success too") {
  PipelineSpec spec = chain(3);
  spec.timeout = 60s;
  Run run{std::move(spec)};
  run.end("n0", succeeded());
  for (int i = 0; i < 11; ++i) {
    run.advance(5s);
    run.tick();
    CHECK(run.result() == RunState::running);
  }
  CHECK(run.due() == moment(60'000));
  run.advance(5s);
  run.tick();
  CHECK(run.result() == RunState::stopping);
  const auto cancels = run.effects_of<CancelEffect>();
  REQUIRE(cancels.size() == 1);
  CHECK(cancels.front().reason == CancelReason::timeout);
  run.end("n1", of_kind(OutcomeKind::timed_out));
  CHECK(run.state_of("n1") == NodeState::failed);
  CHECK(run.state_of("n2") == NodeState::stopped);
  CHECK(run.result() == RunState::failed);
  CHECK(run.state().failures().front().outcome.error == "the run timed out");
  run.prove();
}

TEST_CASE("T7: a run's timeout while all open nodes wait for a slot: failed") {
  PipelineSpec spec = pipeline({task("a"), task("b")});
  spec.timeout = 1s;
  Run run{std::move(spec), {.slots = 0}};
  CHECK(run.count(NodeState::ready) == 2);
  run.advance(1s);
  run.tick();
  CHECK(run.count(NodeState::stopped) == 2);
  CHECK(run.result() == RunState::failed);
  run.prove();
}

TEST_CASE("T7: a stop that loses against the last success: succeeded") {
  for (const bool stop_first : {true, false}) {
    Run run{pipeline({task("a")})};
    std::vector<Input> inputs{run.end_of("a", succeeded()), StopInput{"asked"}};
    if (stop_first) {
      std::swap(inputs[0], inputs[1]);
    }
    run.pass(inputs);
    CHECK(run.result() == RunState::succeeded);
    run.prove();
  }
}

TEST_CASE("a run's timeout ends external nodes timed out, what had not started stopped") {
  PipelineSpec spec = pipeline({external("ask"), task("after", {"ask"})});
  spec.timeout = 1s;
  Run run{std::move(spec)};
  run.advance(1s);
  run.tick();
  CHECK(run.state_of("ask") == NodeState::failed);
  CHECK(run.state_of("after") == NodeState::stopped);
  CHECK(run.result() == RunState::failed);
  REQUIRE(run.state().failures().size() == 1);
  CHECK(run.state().failures().front().outcome.kind == OutcomeKind::timed_out);
  run.prove();
}

}  // namespace stagecall::testing
