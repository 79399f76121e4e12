// A run from its start to its end: order, failures, joins, the cost of a pass.
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecall::testing {
namespace {

/// Ends every submitted attempt well, pass after pass, until nothing is open.
void run_to_end(Run& run) {
  while (!is_terminal(run.result())) {
    std::vector<Input> reports;
    for (const NodeIndex open : run.state().open()) {
      reports.push_back(run.end_of(run.state().spec(open).id, succeeded()));
    }
    REQUIRE_FALSE(reports.empty());
    run.pass(reports);
  }
}

}  // namespace

TEST_CASE("R1: chain, diamond, fan and islands run in order, each node once") {
  PipelineSpec islands = diamond();
  islands.nodes.push_back(task("x"));
  islands.nodes.push_back(task("y", {"x"}));
  for (const PipelineSpec& spec : {chain(20), diamond(), fan(30), layers(5, 7), islands}) {
    Run run{spec};
    run_to_end(run);
    CHECK(run.result() == RunState::succeeded);
    CHECK(run.launches() == spec.nodes.size());
    std::map<NodeIndex, bool> has_ended;
    for (const Pass& pass : run.history()) {
      for (const Event& event : pass.events) {
        if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
          has_ended[ended->node] = true;
        } else if (const auto* submitted = std::get_if<AttemptSubmitted>(&event)) {
          for (const std::string& before : run.state().spec(submitted->node).after) {
            CHECK(has_ended[run.index(before)]);
          }
        }
      }
    }
    run.prove();
  }
}

TEST_CASE("a done and the successors that it frees are one pass") {
  Run run{chain(2)};
  run.end("n0", succeeded());
  CHECK(run.events().size() == 2);
  CHECK(run.effects_of<LaunchEffect>().size() == 1);
  CHECK(run.state_of("n1") == NodeState::submitted);
}

TEST_CASE("R5: a run stays running while other branches run, then fails, descendants are skipped") {
  Run run{pipeline({task("bad"), task("behind", {"bad"}), task("good"), task("after", {"good"})})};
  run.end("bad", failed());
  CHECK(run.result() == RunState::running);
  CHECK(run.state_of("behind") == NodeState::skipped);
  run.end("good", succeeded());
  CHECK(run.result() == RunState::running);
  run.end("after", succeeded());
  CHECK(run.result() == RunState::failed);
  CHECK(run.launches("behind") == 0);
  run.prove();
}

TEST_CASE("R6: an attempt that goes from submitted straight to succeeded left its start") {
  Run run{pipeline({task("a")})};
  const auto submitted = run.events_of<AttemptSubmitted>();
  REQUIRE(submitted.size() == 1);
  CHECK(submitted.front().attempt == Attempt{1});
  run.end("a", succeeded());
  CHECK(run.result() == RunState::succeeded);
  CHECK(run.events_of<AttemptEnded>().size() == 1);
  run.prove();
}

TEST_CASE("R13: ends that come before the launch returned: 10,000 nodes, none stuck or twice") {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 10'000; ++i) {
    nodes.push_back(task("n" + std::to_string(i)));
  }
  Run run{pipeline(std::move(nodes))};
  CHECK(run.launches() == 10'000);
  std::vector<Input> reports;
  for (const NodeIndex open : run.state().open()) {
    reports.push_back(run.end_of(run.state().spec(open).id, succeeded()));
    reports.push_back(reports.back());
    reports.push_back(run.report_of(run.state().spec(open).id, SaysRunning{}));
  }
  run.pass(reports);
  CHECK(run.result() == RunState::succeeded);
  CHECK(run.events_of<AttemptEnded>().size() == 10'000);
  CHECK(run.launches() == 10'000);
  run.prove();
}

TEST_CASE("R14: done three times, then failed, for one attempt: the first wins") {
  for (const bool in_one_pass : {true, false}) {
    Run run{chain(2)};
    const std::vector<Input> reports{run.end_of("n0", succeeded()), run.end_of("n0", succeeded()),
                                     run.end_of("n0", succeeded()), run.end_of("n0", failed())};
    if (in_one_pass) {
      run.pass(reports);
    } else {
      for (const Input& report : reports) {
        run.pass({report});
        CHECK(run.effects_of<AcknowledgeEffect>().size() == 1);
      }
      CHECK(run.events().empty());
    }
    CHECK(run.state_of("n0") == NodeState::succeeded);
    CHECK(run.launches("n1") == 1);
    run.prove();
  }
}

TEST_CASE("R16: b fails in a diamond with a 5-deep tail and an island") {
  PipelineSpec spec = diamond();
  std::string before = "d";
  for (int i = 0; i < 5; ++i) {
    const std::string id = "tail" + std::to_string(i);
    spec.nodes.push_back(task(id, {before}));
    before = id;
  }
  spec.nodes.push_back(task("island"));
  Run run{std::move(spec)};
  run.end("a", succeeded());
  run.pass({run.end_of("b", failed()), run.end_of("c", succeeded())});
  CHECK(run.count(NodeState::skipped) == 6);
  CHECK(run.result() == RunState::running);
  run.end("island", succeeded());
  CHECK(run.result() == RunState::failed);
  CHECK(run.state().failures() == std::vector<FailedNode>{{"b", Attempt{1}, failed()}});
  run.prove();
}

TEST_CASE("R23: a completion touches only its successors, in a pass of 10,000 nodes too") {
  Run run{fan(10'000), {.inspect = false}};
  run.end("root", succeeded());
  CHECK(run.touched() == 10'001);
  CHECK(run.launches() == 10'001);
  for (int i = 0; i < 100; ++i) {
    run.end("n" + std::to_string(i * 37), succeeded());
    CHECK(run.touched() == 2);  // itself and the end
    CHECK(run.events().size() == 1);
  }
  run.tick();
  CHECK(run.touched() == 0);
  CHECK(run.events().empty());
  run_to_end(run);
  CHECK(run.result() == RunState::succeeded);
}

TEST_CASE("R23: ladder and full layers finish, each node once") {
  std::vector<NodeSpec> ladder;
  for (int i = 0; i < 60; ++i) {
    for (const std::string side : {"a", "b"}) {
      std::vector<std::string> after;
      if (i > 0) {
        after = {"a" + std::to_string(i - 1), "b" + std::to_string(i - 1)};
      }
      ladder.push_back(task(side + std::to_string(i), after));
    }
  }
  for (const PipelineSpec& spec : {pipeline(ladder), layers(20, 100)}) {
    Run run{spec, {.inspect = false}};
    run_to_end(run);
    CHECK(run.result() == RunState::succeeded);
    CHECK(run.launches() == spec.nodes.size());
    CHECK(broken_invariants(run.state()).empty());
  }
}

TEST_CASE("a chain of 10,000 joins succeeds inside the pass that frees it") {
  PipelineSpec spec = chain(10'000, join);
  spec.nodes.push_back(task("gate"));
  spec.nodes.front().after = {"gate"};
  spec.nodes.push_back(task("last", {"n9999"}));
  Run run{std::move(spec)};
  run.end("gate", succeeded());
  CHECK(run.count(NodeState::succeeded) == 10'001);
  CHECK(run.state_of("last") == NodeState::submitted);
  CHECK(run.events().size() == 2);
  CHECK(run.launches() == 2);
  CHECK(run.record("n5").attempt == Attempt{0});
}

TEST_CASE("a pipeline of joins alone has succeeded after its first pass") {
  Run run{chain(3, join)};
  CHECK(run.result() == RunState::succeeded);
  CHECK_FALSE(run.due());
  run.prove();
}

TEST_CASE("nodes start by priority, then in document order, while slots last") {
  PipelineSpec spec = pipeline({task("a"), task("b"), task("c"), task("d")});
  spec.nodes[2].priority = 5;
  spec.nodes[3].priority = -5;
  Run run{std::move(spec), {.slots = 2}};
  CHECK(run.state_of("c") == NodeState::submitted);
  CHECK(run.state_of("a") == NodeState::submitted);
  CHECK(run.count(NodeState::ready) == 2);
  run.end("c", succeeded());
  CHECK(run.state_of("b") == NodeState::submitted);
  CHECK(run.state_of("d") == NodeState::ready);
  run.end("a", succeeded());
  CHECK(run.state_of("d") == NodeState::submitted);
}

TEST_CASE("a wide node waits for room and is not overtaken, one too wide runs alone") {
  PipelineSpec spec = pipeline({task("first"), task("wide", {"first"}), task("thin", {"first"})});
  spec.nodes[1].slots = 100;
  Run run{std::move(spec), {.slots = 4, .slots_max = 4}};
  run.end("first", succeeded());
  CHECK(run.state_of("wide") == NodeState::submitted);
  CHECK(run.state_of("thin") == NodeState::ready);
  run.end("wide", succeeded());
  CHECK(run.state_of("thin") == NodeState::submitted);
}

TEST_CASE("within a priority the widest go first, as the slot broker grants them") {
  PipelineSpec spec = pipeline({task("thin"), task("wide")});
  spec.nodes[1].slots = 3;
  Run run{std::move(spec), {.slots = 3}};
  CHECK(run.state_of("wide") == NodeState::submitted);
  CHECK(run.state_of("thin") == NodeState::ready);
}

TEST_CASE("slots that others wait for are not filled again, those still unused are") {
  Run run{fan(10), {.slots = 1}};
  run.set_slots(6);
  run.end("root", succeeded());
  CHECK(run.count(NodeState::submitted) == 6);
  run.set_slots(7);
  run.set_reuse(false);
  run.pass({run.end_of("n0", succeeded()), run.end_of("n1", succeeded())});
  CHECK(run.effects_of<LaunchEffect>().size() == 1);
  CHECK(run.count(NodeState::submitted) == 5);
}

TEST_CASE("a finished run acknowledges late ends and takes nothing else") {
  Run run{pipeline({task("a")})};
  const Input end = run.end_of("a", succeeded());
  run.pass({end});
  REQUIRE(run.result() == RunState::succeeded);
  run.pass({end, StopInput{"late"}, TickInput{}, TermInput{replica("b")},
            NodeDoneInput{.node = "a", .outcome = failed()}});
  CHECK(run.events().empty());
  CHECK(run.effects_of<AcknowledgeEffect>().size() == 1);
  CHECK(run.effects().size() == 1);
  CHECK(run.result() == RunState::succeeded);
}

TEST_CASE("reports for unknown nodes, other nonces and other attempts change nothing") {
  Run run{pipeline({task("a")})};
  const NodeRecord& record = run.record("a");
  const auto end = SaysEnded{succeeded(), {}};
  run.pass({ReportInput{"nobody", record.attempt, record.nonce, end},
            ReportInput{"a", record.attempt, Nonce{record.nonce.value + 1}, end},
            ReportInput{"a", Attempt{record.attempt.value + 1}, record.nonce, end}});
  CHECK(run.events().empty());
  CHECK(run.state_of("a") == NodeState::submitted);
}

}  // namespace stagecall::testing
