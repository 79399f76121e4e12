// Random pipelines in random weather. RC_PARAMS="seed=…" replays what a failure prints.
#include "core/rerun.hpp"
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace stagecall::testing {
namespace {

std::size_t below(std::size_t bound) {
  return *rc::gen::inRange<std::size_t>(0, bound);
}
bool one_in(std::size_t times) {
  return below(times) == 0;
}

NodeSpec any_node(std::size_t position, const std::vector<NodeSpec>& before) {
  const std::string id = "n" + std::to_string(position);
  NodeSpec spec;
  switch (below(6)) {
    case 0: spec = join(id); break;
    case 1: spec = external(id); break;
    case 2: spec = slurm(id); break;
    default: spec = task(id);
  }
  for (std::size_t i = below(4); i > 0 && !before.empty(); --i) {
    spec.after.push_back(before[below(before.size())].id);
  }
  constexpr std::array kTriggers{Trigger::all_succeeded, Trigger::all_succeeded,
                                 Trigger::all_finished, Trigger::any_failed};
  spec.trigger = kTriggers[below(kTriggers.size())];
  spec.priority = static_cast<std::int32_t>(below(3)) - 1;
  spec.slots = static_cast<std::uint32_t>(1 + below(3));
  spec.retry.attempts_max = static_cast<std::uint32_t>(1 + below(3));
  spec.retry.lost_max = static_cast<std::uint32_t>(below(3));
  spec.retry.jitter = one_in(2) ? 0.5 : 0;
  if (one_in(3)) {
    spec.timeout = Duration{static_cast<std::int64_t>(1 + below(20'000))};
  }
  return spec;
}

PipelineSpec any_pipeline() {
  PipelineSpec spec = pipeline({});
  const std::size_t size = 1 + below(12);
  for (std::size_t i = 0; i < size; ++i) {
    spec.nodes.push_back(any_node(i, spec.nodes));
  }
  spec.on_failure = one_in(4) ? OnFailure::stop : OnFailure::go_on;
  if (one_in(4)) {
    spec.timeout = Duration{static_cast<std::int64_t>(1 + below(100'000))};
  }
  return spec;
}

Outcome any_outcome() {
  constexpr std::array kKinds{
      OutcomeKind::succeeded, OutcomeKind::succeeded,    OutcomeKind::failed,
      OutcomeKind::timed_out, OutcomeKind::lost,         OutcomeKind::stopped,
      OutcomeKind::rejected,  OutcomeKind::not_launched, OutcomeKind::interrupted};
  return of_kind(kKinds[below(kKinds.size())]);
}

AttemptNews any_news() {
  switch (below(7)) {
    case 0: return SaysRunning{};
    case 1: return SaysAlive{};
    case 2: return SaysAbsent{.proven = false};
    case 3: return SaysAbsent{.proven = true};
    case 4: return SaysUnknown{};
    default: return SaysEnded{any_outcome(), {}};
  }
}

Input any_input(const Run& run, std::vector<Input>& said) {
  const std::string id =
      run.state().spec(NodeIndex{static_cast<std::uint32_t>(below(run.state().size()))}).id;
  switch (below(10)) {
    case 0: return TickInput{};
    case 1:
      if (!said.empty()) {
        return said[below(said.size())];
      }
      return TickInput{};
    case 2:
      if (one_in(10)) {
        return StopInput{"asked"};
      }
      return TickInput{};
    case 3:
    case 4: {
      NodeDoneInput done{.node = id, .outcome = one_in(2) ? succeeded() : failed()};
      if (one_in(20)) {
        done.force_reason = "because";
      }
      said.emplace_back(done);
      return said.back();
    }
    default: said.push_back(run.report_of(id, any_news())); return said.back();
  }
}

void weather(Run& run) {
  static const std::vector<std::string> kHolders{"a", "b", "c"};
  std::vector<Input> said;
  for (std::size_t steps = below(40); steps > 0 && !is_terminal(run.result()); --steps) {
    run.advance(Duration{static_cast<std::int64_t>(below(15'000))});
    run.set_slots(static_cast<std::uint32_t>(below(8)));
    run.set_reuse(one_in(2));
    std::vector<Input> inputs;
    for (std::size_t i = below(4); i > 0; --i) {
      inputs.push_back(any_input(run, said));
    }
    if (one_in(6)) {
      if (one_in(3)) {
        run.advance(-Duration{static_cast<std::int64_t>(below(100'000))});
      }
      run.restart(replica(kHolders[below(kHolders.size())]), inputs);
    } else {
      run.pass(inputs);
    }
  }
}

/// From here on every executor answers well: whatever the weather left, the run ends.
void clear_sky(Run& run) {
  run.set_slots(1'000);
  run.set_reuse(true);
  for (int round = 0; !is_terminal(run.result()); ++round) {
    if (round > 500) {
      throw std::logic_error("a run does not end although everybody answers");
    }
    run.advance(1min);
    std::vector<Input> inputs{TickInput{}};
    for (const NodeIndex open : run.state().open()) {
      const NodeSpec& spec = run.state().spec(open);
      if (std::holds_alternative<ExternalAction>(spec.action)) {
        inputs.push_back(NodeDoneInput{.node = spec.id, .outcome = succeeded()});
      } else {
        inputs.push_back(run.end_of(spec.id, succeeded()));
      }
    }
    run.pass(inputs);
  }
}

/// No attempt is handed out twice, none before it is recorded.
void check_attempts(const Run& run) {
  std::set<std::pair<NodeIndex, Attempt>> submitted;
  std::size_t recorded = 0;
  for (const Pass& pass : run.history()) {
    for (const Event& event : pass.events) {
      if (const auto* attempt = std::get_if<AttemptSubmitted>(&event)) {
        submitted.emplace(attempt->node, attempt->attempt);
        ++recorded;
      }
    }
  }
  RC_ASSERT(submitted.size() == recorded);
  RC_ASSERT(run.launches() == recorded);
}

}  // namespace

TEST_CASE("any run in any weather keeps its invariants, folds to itself and can end") {
  CHECK(rc::check([] {
    Run run{any_pipeline(), {.slots = 4, .slots_max = 4}};
    weather(run);
    run.prove();
    clear_sky(run);
    run.prove();
    check_attempts(run);
  }));
}

TEST_CASE("R18: any rerun carries what succeeded, runs the rest, folds to itself and succeeds") {
  CHECK(rc::check([] {
    PipelineSpec spec = any_pipeline();
    Run first{spec, {.slots = 4, .slots_max = 4}};
    weather(first);
    clear_sky(first);
    const auto carried = carry_over(first.state());
    const bool has_failed = first.count(NodeState::failed) + first.count(NodeState::stopped) > 0;
    RC_ASSERT(carried.has_value() == has_failed);
    if (!carried) {
      return;
    }
    Run again{spec, {.slots = 4, .slots_max = 4, .first_pass = false, .carried = *carried}};
    for (const NodeCarried& node : *carried) {
      const NodeRecord& record = again.state().node(node.node);
      RC_ASSERT((record.state == NodeState::succeeded) || !node.has_succeeded);
      RC_ASSERT(record.attempt >= node.attempt);
      RC_ASSERT(record.attempts_counted + record.attempts_lost == 0);
    }
    again.tick();
    clear_sky(again);
    again.prove();
    check_attempts(again);
    for (const NodeCarried& node : *carried) {
      RC_ASSERT(!node.has_succeeded || again.launches(again.state().spec(node.node).id) == 0);
    }
    const bool had_time = again.state().run().stop_cause != StopCause::timeout;
    RC_ASSERT(again.result() == (had_time ? RunState::succeeded : RunState::failed));
  }));
}

TEST_CASE("a live run without a deadline either ticks or waits for the outside only") {
  CHECK(rc::check([] {
    Run run{any_pipeline(), {.slots = 4, .slots_max = 4}};
    weather(run);
    run.tick();
    if (is_terminal(run.result())) {
      RC_ASSERT(!run.due());
      return;
    }
    if (!run.due()) {
      for (const NodeIndex open : run.state().open()) {
        RC_ASSERT(std::holds_alternative<ExternalAction>(run.state().spec(open).action));
      }
      RC_ASSERT(run.count(NodeState::ready) == 0);
      RC_ASSERT(run.count(NodeState::backoff) == 0);
    }
  }));
}

TEST_CASE("any run that nobody answers ends by its timeout") {
  CHECK(rc::check([] {
    PipelineSpec spec = any_pipeline();
    spec.timeout = 1h;
    Run run{std::move(spec), {.slots = 4, .slots_max = 4}};
    weather(run);
    for (int i = 0; i < 10 && !is_terminal(run.result()); ++i) {
      run.advance(1h);
      run.tick();
    }
    RC_ASSERT(is_terminal(run.result()));
    run.prove();
  }));
}

TEST_CASE("the result does not depend on the order in which independent reports come") {
  CHECK(rc::check([] {
    PipelineSpec spec = any_pipeline();
    spec.on_failure = OnFailure::go_on;
    spec.timeout.reset();
    std::map<std::string, Outcome> fate;
    for (NodeSpec& node : spec.nodes) {
      node.timeout.reset();
      node.retry.attempts_max = 1;
      fate[node.id] = one_in(3) ? failed() : succeeded();
    }
    const auto live = [&spec, &fate](bool in_document_order, bool all_at_once) {
      Run run{spec};
      while (!is_terminal(run.result())) {
        std::vector<Input> ends;
        for (const NodeIndex open : run.state().open()) {
          const std::string& id = run.state().spec(open).id;
          const bool outside =
              std::holds_alternative<ExternalAction>(run.state().spec(open).action);
          ends.push_back(outside ? Input{NodeDoneInput{.node = id, .outcome = fate[id]}}
                                 : run.end_of(id, fate[id]));
        }
        RC_ASSERT(!ends.empty());
        if (!in_document_order) {
          std::reverse(ends.begin(), ends.end());
        }
        if (!all_at_once) {
          ends = {ends.at(below(ends.size()))};
        }
        run.pass(ends);
      }
      run.prove();
      std::vector<NodeState> states;
      for (std::uint32_t i = 0; i < run.state().size(); ++i) {
        states.push_back(run.state().node(NodeIndex{i}).state);
      }
      return std::pair{run.result(), states};
    };
    const auto expected = live(true, true);
    RC_ASSERT(live(false, true) == expected);
    RC_ASSERT(live(true, false) == expected);
    RC_ASSERT(live(false, false) == expected);
  }));
}

}  // namespace stagecall::testing
