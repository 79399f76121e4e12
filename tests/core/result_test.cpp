// What two inputs of a join make of it, and what the states of its nodes make of a run.
#include "core/run_result.hpp"
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

#include <array>

namespace stagecall::testing {
namespace {

/// How an input of the join comes to its end.
enum class Way { succeeds, fails, is_rejected, is_lost, is_stopped, is_skipped, is_forced_ok };
constexpr std::array kWays{Way::succeeds,   Way::fails,      Way::is_rejected, Way::is_lost,
                           Way::is_stopped, Way::is_skipped, Way::is_forced_ok};

bool ends_well(Way way) {
  return way == Way::succeeds || way == Way::is_forced_ok;
}

void go(Run& run, const std::string& id, Way way) {
  switch (way) {
    case Way::succeeds: run.end(id, succeeded()); break;
    case Way::fails: run.end(id, failed()); break;
    case Way::is_rejected: run.end(id, of_kind(OutcomeKind::rejected)); break;
    case Way::is_lost: run.end(id, of_kind(OutcomeKind::lost)); break;
    case Way::is_stopped: run.end(id, of_kind(OutcomeKind::stopped)); break;
    case Way::is_skipped: run.end("before_" + id, failed()); break;
    case Way::is_forced_ok: run.force(id, succeeded()); break;
  }
}

PipelineSpec two_inputs(Way x, Way y, Trigger trigger) {
  PipelineSpec spec = pipeline({});
  for (const auto& [id, way] : {std::pair{"x", x}, std::pair{"y", y}}) {
    NodeSpec input = task(id);
    input.retry.lost_max = 0;
    if (way == Way::is_skipped) {
      spec.nodes.push_back(task("before_" + input.id));
      input.after = {"before_" + input.id};
    }
    spec.nodes.push_back(input);
  }
  spec.nodes.push_back(task("z", {"x", "y"}));
  spec.nodes.back().trigger = trigger;
  return spec;
}

/// The table, written down apart from the code: does z run?
bool is_run(Way x, Way y, Trigger trigger) {
  switch (trigger) {
    case Trigger::all_succeeded: return ends_well(x) && ends_well(y);
    case Trigger::all_finished: return true;
    case Trigger::any_failed: return !ends_well(x) || !ends_well(y);
  }
  return false;
}

}  // namespace

TEST_CASE("R17: outcomes of two inputs, both orders, each trigger: one table") {
  for (const Trigger trigger :
       {Trigger::all_succeeded, Trigger::all_finished, Trigger::any_failed}) {
    for (const Way x : kWays) {
      for (const Way y : kWays) {
        CAPTURE(static_cast<int>(trigger));
        CAPTURE(static_cast<int>(x));
        CAPTURE(static_cast<int>(y));
        Run forward{two_inputs(x, y, trigger)};
        go(forward, "x", x);
        go(forward, "y", y);
        Run backward{two_inputs(x, y, trigger)};
        go(backward, "y", y);
        go(backward, "x", x);
        for (Run* run : {&forward, &backward}) {
          CHECK((run->state_of("z") == NodeState::submitted) == is_run(x, y, trigger));
          CHECK((run->state_of("z") == NodeState::skipped) == !is_run(x, y, trigger));
          if (is_run(x, y, trigger)) {
            run->end("z", succeeded());
          }
          run->prove();
        }
        CHECK(is_terminal(forward.result()));
        CHECK(forward.result() == backward.result());
        CHECK(forward.state().run().counts == backward.state().run().counts);
      }
    }
  }
}

TEST_CASE("triggers act as soon as they can be told") {
  Run early_skip{two_inputs(Way::fails, Way::succeeds, Trigger::all_succeeded)};
  early_skip.end("x", failed());
  CHECK(early_skip.state_of("z") == NodeState::skipped);
  Run early_run{two_inputs(Way::fails, Way::succeeds, Trigger::any_failed)};
  early_run.end("x", failed());
  CHECK(early_run.state_of("z") == NodeState::submitted);
  Run waits{two_inputs(Way::fails, Way::succeeds, Trigger::all_finished)};
  waits.end("x", failed());
  CHECK(waits.state_of("z") == NodeState::blocked);
  Run starved{pipeline({task("a")}), {.first_pass = false}};
  PipelineSpec alone = pipeline({task("a")});
  alone.nodes[0].trigger = Trigger::any_failed;
  Run nothing_before{alone};
  CHECK(nothing_before.state_of("a") == NodeState::skipped);
  CHECK(nothing_before.result() == RunState::succeeded);
}

TEST_CASE("R19: every multiset of at most four node states has a defined result") {
  std::size_t checked = 0;
  const auto check = [&checked](const NodeCounts& counts) {
    const auto of = [&counts](NodeState state) { return counts[static_cast<std::size_t>(state)]; };
    const bool all_over = of(NodeState::blocked) + of(NodeState::ready) + of(NodeState::submitted) +
                              of(NodeState::running) + of(NodeState::backoff) +
                              of(NodeState::unreachable) ==
                          0;
    for (const StopCause cause :
         {StopCause::none, StopCause::request, StopCause::failure, StopCause::timeout}) {
      ++checked;
      const auto result = run_result(counts, cause);
      CHECK(result.has_value() == all_over);
      if (!all_over) {
        continue;
      }
      if (of(NodeState::failed) > 0 || cause == StopCause::timeout) {
        CHECK(*result == RunState::failed);
      } else if (of(NodeState::stopped) > 0) {
        CHECK(*result == RunState::stopped);
      } else {
        CHECK(*result == RunState::succeeded);
      }
    }
  };
  // Four places, each one of ten states or empty; in falling order, so that each multiset comes
  // once.
  constexpr std::size_t kChoices = kNodeStateCount + 1;
  for (std::size_t a = 0; a < kChoices; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      for (std::size_t c = 0; c <= b; ++c) {
        for (std::size_t d = 0; d <= c; ++d) {
          NodeCounts counts{};
          for (const std::size_t place : {a, b, c, d}) {
            if (place < kNodeStateCount) {
              ++counts[place];
            }
          }
          check(counts);
        }
      }
    }
  }
  CHECK(checked == 1'001 * 4);
}

TEST_CASE("a history may not claim another result than its nodes have") {
  Run run{pipeline({task("a")})};
  run.end("a", failed());
  REQUIRE(run.result() == RunState::failed);
  std::vector<Pass> forged = run.history();
  forged.back().events.back() = RunEnded{RunState::succeeded};
  HistoryCheck check{run.definition()};
  for (const Pass& pass : forged) {
    check.take(pass);
  }
  REQUIRE(check.violations().size() == 1);
  CHECK(check.violations().front().rule == "event");
}

}  // namespace stagecall::testing
