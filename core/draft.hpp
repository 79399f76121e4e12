// What a pass would make of a run: the records that its events change, beside the untouched state.
// decide() works on a draft, so that the state stays as committed until the commit; a fold is the
// same draft absorbed at once. Draft::apply is the only place where a run changes.
#pragma once

#include "core/node_record.hpp"
#include "core/pipeline_state.hpp"
#include "core/transitions.hpp"
#include "messages/events.hpp"

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecall {

class Draft {
 public:
  /// All events of a draft happen `at` one moment. The base must outlive it, unchanged.
  Draft(const PipelineState& base, WallTime at)
      : base_(&base), at_(at), run_(base.run()), ready_cursor_(base.ready().begin()) {}

  /// Why the event is not legal now; none = apply it. What verify() finds in a damaged history.
  std::optional<std::string> objection(const Event& event) const;
  /// The event must be legal.
  void apply(const Event& event);

  const PipelineState& base() const { return *base_; }
  WallTime at() const { return at_; }
  const RunRecord& run() const { return run_; }
  const NodeRecord& node(NodeIndex node) const;
  const NodeSpec& spec(NodeIndex node) const { return base_->spec(node); }
  const std::vector<std::pair<NodeIndex, NodeRecord>>& touched() const { return touched_; }
  const std::vector<ReplicaIdentity>& holders_added() const { return holders_added_; }
  /// Also one that this draft adds.
  const ReplicaIdentity& holder(std::uint32_t index) const;
  const std::vector<FailedNode>& failures_added() const { return failures_added_; }

  /// First in order of ReadyKey; none = no node is ready.
  std::optional<NodeIndex> first_ready();
  /// Nodes with an open attempt, in document order.
  std::vector<NodeIndex> open() const;
  /// Nodes whose deadline has passed, earliest first.
  std::vector<NodeIndex> due() const;
  /// The earliest deadline of the run or of a node.
  WallTime next_deadline() const;
  bool all_terminal() const;
  /// Every open node is an external one that runs, or behind one: nothing here needs a wake-up.
  bool waits_for_outside_only() const;
  bool is_stopping() const { return run_.stop_cause != StopCause::none; }

 private:
  void on(const RunStarted& event);
  void on(const TermOpened& event);
  void on(const AttemptSubmitted& event);
  void on(const AttemptRunning& event);
  void on(const AttemptAbsent& event);
  void on(const AttemptUnreachable& event);
  void on(const AttemptFound& event);
  void on(const AttemptTimedOut& event);
  void on(const AttemptEnded& event);
  void on(const BackoffEnded& event);
  void on(const NodeForced& event);
  void on(const StopRequested& event);
  void on(const RunTimedOut& event);
  void on(const RunEnded& event);
  void on(const NodeCarried& event);

  NodeRecord& edit(NodeIndex node);
  void move(NodeIndex node, NodeSignal signal);
  void settle(NodeIndex node, NodeSignal signal);
  void begin_stop(StopCause cause);
  void release_attempt(NodeIndex node);
  void forget_absence(NodeIndex node);
  void come_into_sight(NodeIndex node);
  void note_failure(NodeIndex node, const Outcome& outcome);
  void turn_has_come(NodeIndex node);
  void open_external(NodeIndex node);
  void dependency_ended(NodeIndex node, bool succeeded);
  void spread_ends();

  const PipelineState* base_;
  WallTime at_;
  RunRecord run_;
  std::vector<std::pair<NodeIndex, NodeRecord>> touched_;
  std::unordered_map<NodeIndex, std::size_t> slot_of_;  // into touched_; never iterated
  std::set<ReadyKey>::const_iterator ready_cursor_;     // into the base: before it nothing is ready
  std::set<ReadyKey> ready_added_;
  std::vector<NodeIndex> ended_;  // terminal now, successors not told yet
  std::vector<ReplicaIdentity> holders_added_;
  std::vector<FailedNode> failures_added_;
};

/// The state that an outcome leads to when it ends its node.
NodeSignal final_signal(OutcomeKind outcome, bool stopping);

/// The longest wait that can be meant by `due_at`: what is left of one never exceeds it.
Duration longest_wait(const NodeSpec& spec, const NodeRecord& record);

}  // namespace stagecall
