// One small workload, of everything a bit: a retry, an output, an external node, a hand-over by a
// drain, and a second run that is stopped. On two replicas in virtual time and a real SQLite store;
// judged by what the executors saw, by history, and by what is left.
#pragma once

#include "cli/verify.hpp"
#include "tests/support/actor_world.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecall::testing {

class SharedWork {
 public:
  explicit SharedWork(SqliteStoreOptions on = {.path = {}, .durability = Durability::normal})
      : world(std::move(on), kSlots) {
    world.add_replica("b");
    for (std::size_t i = 0; i < 2; ++i) {
      equip(world.replica(i).executor);
    }
  }

  World world;

  /// Does all of it, asking again what was refused, and gives what is wrong with it; empty = well.
  std::string faults() {
    for (Duration passed{0}; passed < kLongest && !is_over(); passed += kStep) {
      ask();
      world.advance(kStep, kStep);
      end_what_is_due();
      world.deliver_nudges();
    }
    // Leases are given back, attempts that ended late say so.
    for (Duration passed{0}; passed < kRest && (passed < kLeastRest || !left().empty());
         passed += kStep) {
      world.advance(kStep, kStep);
      end_what_is_due();
      world.deliver_nudges();
    }
    return faults_ + left();
  }

 private:
  static constexpr std::uint32_t kSlots = 4;
  static constexpr Duration kStep{500};
  static constexpr Duration kLongest{600'000};
  static constexpr Duration kLeastRest{6'000};  // more than a tick
  static constexpr Duration kRest{60'000};

  struct Work {
    ScriptedExecutor* executor;
    BootTime ends_at;
    Outcome outcome;
    bool is_running = true;
  };

  static NodeSpec retried(NodeSpec node) {
    node.retry = {.attempts_max = 3, .delay = Duration{1'000}};
    node.timeout = Duration{120'000};
    node.grace = Duration{1'000};
    return node;
  }
  static PipelineSpec whole() {
    return pipeline("whole", {retried(task("flaky")), retried(task("says", {"flaky"})),
                              external("gate", {"says"}), retried(task("long", {"gate"}))});
  }
  static PipelineSpec stopped() { return pipeline("stopped", {retried(task("endless"))}); }

  // ---- What the executors do ----

  void equip(ScriptedExecutor& executor) {
    executor.on_submit = [this, &executor](const Launch& launch) { take(executor, launch); };
    executor.on_cancel = [this](const Cancel& cancel) {
      if (const auto found = works_.find(cancel.key); found != works_.end()) {
        found->second.ends_at = BootTime{};
        found->second.outcome = {.kind = cancel.reason == CancelReason::drain
                                             ? OutcomeKind::interrupted
                                             : OutcomeKind::stopped};
      }
    };
    executor.on_query = [this](const AttemptQuery& query) -> AttemptNews {
      const auto found = works_.find(query.key);
      if (found == works_.end()) {
        return SaysAbsent{};
      }
      return found->second.is_running ? AttemptNews{SaysAlive{}} : SaysEnded{found->second.outcome};
    };
  }

  void take(ScriptedExecutor& executor, const Launch& launch) {
    if (world.clock().boot() >= launch.trusted_until) {
      executor.report(launch.key, SaysEnded{{.kind = OutcomeKind::not_launched}, {}});
      return;
    }
    const std::string& node = launch.key.node;
    if (works_.contains(launch.key)) {
      faults_ += "launched twice: " + launch.key.text() + '\n';
    }
    for (const auto& [key, work] : works_) {
      if (work.is_running && key.run == launch.key.run && key.node == node) {
        faults_ += launch.key.text() + " is launched while " + key.text() + " runs\n";
      }
    }
    const bool is_early = (node == "says" && !has_succeeded("flaky")) ||
                          (node == "long" && !(has_succeeded("says") && is_gate_done_));
    if (is_early) {
      faults_ += launch.key.text() + " is launched before what it waits for\n";
    }
    const Duration lasts{node == "long" ? 25'000 : node == "endless" ? 3'600'000 : 800};
    const bool fails = node == "flaky" && ++flaky_tries_ == 1;
    works_[launch.key] = {&executor, world.clock().boot() + lasts,
                          fails ? Outcome::failed("the first time") : Outcome::succeeded()};
    executor.report(launch.key, SaysRunning{});
  }

  bool has_succeeded(const std::string& node) const {
    return std::any_of(works_.begin(), works_.end(), [&](const auto& each) {
      return each.first.node == node && !each.second.is_running &&
             each.second.outcome.kind == OutcomeKind::succeeded;
    });
  }

  void end_what_is_due() {
    for (auto& [key, work] : works_) {
      if (work.is_running && work.ends_at <= world.clock().boot()) {
        work.is_running = false;
        const bool speaks = key.node == "says" && work.outcome.kind == OutcomeKind::succeeded;
        work.executor->report(key, SaysEnded{work.outcome, speaks ? R"({"x":1})" : ""});
      }
    }
    world.run();
  }

  // ---- What is asked ----

  void ask() {
    if (!whole_) {
      whole_ = started(whole());
    }
    if (!stopped_) {
      stopped_ = started(stopped());
    }
    if (whole_ && !is_gate_done_ && state_of(*whole_, "gate") == NodeState::running) {
      is_gate_done_ = true;  // the word may be in the store though its answer was lost
      is_gate_told_ = false;
    }
    if (is_gate_done_ && !is_gate_told_) {
      is_gate_told_ = put(*whole_, NodeDoneInput{.node = "gate", .outcome = Outcome::succeeded()});
    }
    if (stopped_ && !is_stop_told_ && is_under_way(*stopped_, "endless")) {
      is_stop_told_ = put(*stopped_, StopInput{"asked"});
    }
    if (whole_ && is_under_way(*whole_, "long") && !std::exchange(is_drained_, true)) {
      world.drain(world.replica(0), Duration{1'000});
    }
  }

  std::optional<RunId> started(PipelineSpec spec) {
    const auto reply = world.start(std::move(spec), world.replica(0));
    return reply ? std::optional{reply->row.run} : std::nullopt;
  }
  bool put(const RunId& run, InboxMessage message) {
    return world.put(run, std::move(message), world.replica(1)).has_value();
  }

  /// By history, which is read past the faults.
  PipelineState folded(const RunId& run) {
    const auto definition =
        World::value(Definition::build(run.pipeline == "whole" ? whole() : stopped()));
    PipelineState state{definition};
    for (const StoredPass& stored : World::value(truth().history(run, Seq{0}))) {
      state.apply(stored.pass);
    }
    return state;
  }
  NodeState state_of(const RunId& run, const std::string& node) {
    const PipelineState state = folded(run);
    return state.node(*state.definition().find(node)).state;
  }
  bool is_under_way(const RunId& run, const std::string& node) {
    const NodeState state = state_of(run, node);
    return state == NodeState::running || state == NodeState::unreachable;
  }
  Store& truth() { return world.replica(1).store->real(); }

  bool is_over() {
    return whole_ && stopped_ && is_terminal(world.state(*whole_)) &&
           is_terminal(world.state(*stopped_)) && is_drained_;
  }

  // ---- What became of it ----

  /// What is not as it should be once all is over, a line each.
  std::string left() {
    std::string text;
    const auto blame_unless = [&text](bool holds, const std::string& what) {
      text += holds ? "" : what + '\n';
    };
    blame_unless(is_over(), "not all has ended");
    if (!whole_ || !stopped_) {
      return text;
    }
    for (const RunId& run : {*whole_, *stopped_}) {
      const RunState wanted = run == *whole_ ? RunState::succeeded : RunState::stopped;
      blame_unless(world.state(run) == wanted,
                   run.text() + " is " + std::string{name_of(world.state(run))});
      blame_unless(world.inbox_rows(run) == 0, run.text() + " has rows in its inbox");
      blame_unless(world.leftovers(run).empty(), run.text() + " has leftovers");
    }
    const auto verified = World::value(cli::verify_store(truth()));
    for (const auto& violation : verified.violations) {
      blame_unless(false, "verify: " + violation.violation.text);
    }
    blame_unless(verified.runs == 2, "there are " + std::to_string(verified.runs) + " runs");
    for (const auto& [key, work] : works_) {
      blame_unless(!work.is_running, key.text() + " still runs");
    }
    for (std::size_t i = 0; i < 2; ++i) {
      auto& member = world.replica(i);
      blame_unless(world.runs(member).empty(), "a replica holds a run that has ended");
      blame_unless(world.count(member.actors->colleagues.slot_broker, "free") == kSlots,
                   "not all slots are free");
      blame_unless(world.count(member.actors->colleagues.custodian, "in_custody") == 0,
                   "attempts are still in custody");
    }
    return text;
  }

  std::map<AttemptKey, Work> works_;
  std::string faults_;
  std::optional<RunId> whole_;
  std::optional<RunId> stopped_;
  int flaky_tries_ = 0;
  bool is_gate_done_ = false;
  bool is_gate_told_ = false;
  bool is_stop_told_ = false;
  bool is_drained_ = false;
};

}  // namespace stagecall::testing
