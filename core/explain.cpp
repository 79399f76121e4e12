#include "core/explain.hpp"

#include "core/duration.hpp"
#include "core/refusal.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace stagecall {
namespace {

using Nodes = std::vector<NodeIndex>;  // in document order, each once

constexpr std::size_t kNamedMax = 3;

void put_in_order(Nodes& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

class Explainer {
 public:
  Explainer(const PipelineState& state, const ExplainContext& context);

  NodeExplanation explain(NodeIndex node);

 private:
  struct Story {
    WaitReason reason = WaitReason::none;
    std::string text{};
    std::optional<WallTime> until{};
    Nodes culprits{};
  };

  Story story(NodeIndex node);
  Story blocked(NodeIndex node) const;
  Story ready(NodeIndex node) const;
  Story slots(NodeIndex node) const;
  Story backing_off(NodeIndex node) const;
  Story open(NodeIndex node) const;
  Story told_to_end(NodeIndex node) const;
  Story out_of_sight(NodeIndex node) const;
  Story failed(NodeIndex node) const;
  Story skipped(NodeIndex node);
  Story stopped() const;

  Nodes dependencies(NodeIndex node) const;
  Nodes unsuccessful_before(NodeIndex node) const;
  const Nodes& roots(NodeIndex skipped);
  Nodes merged_roots(const Nodes& before) const;
  Nodes slot_takers() const;

  const NodeRecord& record(NodeIndex node) const { return state_.node(node); }
  NodeState state_of(NodeIndex node) const { return record(node).state; }
  std::string named(const Nodes& nodes) const;
  std::string attempt(NodeIndex node) const {
    return "attempt " + std::to_string(record(node).attempt.value);
  }
  std::string left(WallTime until) const {
    return write_duration(std::max(Duration{1}, until - context_.now));
  }
  static std::optional<WallTime> moment(WallTime at) {
    return at == kNever ? std::nullopt : std::optional{at};
  }

  const PipelineState& state_;
  const ExplainContext& context_;
  std::map<std::string_view, const FailedNode*> failures_;
  std::map<NodeIndex, Nodes> roots_;  // of skipped nodes: what was not skipped behind them
};

Explainer::Explainer(const PipelineState& state, const ExplainContext& context)
    : state_(state), context_(context) {
  for (const FailedNode& failure : state.failures()) {
    failures_[failure.node] = &failure;
  }
}

NodeExplanation Explainer::explain(NodeIndex node) {
  Story told = story(node);
  told.culprits.resize(std::min(told.culprits.size(), kLimits.culprits_listed_max));
  NodeExplanation explanation{.node = state_.spec(node).id,
                              .state = state_of(node),
                              .reason = told.reason,
                              .text = std::move(told.text),
                              .until = told.until};
  for (const NodeIndex culprit : told.culprits) {
    explanation.culprits.push_back(state_.spec(culprit).id);
  }
  return explanation;
}

Explainer::Story Explainer::story(NodeIndex node) {
  switch (state_of(node)) {
    case NodeState::blocked: return blocked(node);
    case NodeState::ready: return ready(node);
    case NodeState::backoff: return backing_off(node);
    case NodeState::submitted:
    case NodeState::running:
    case NodeState::unreachable: return open(node);
    case NodeState::succeeded: return {WaitReason::none, "it has succeeded"};
    case NodeState::failed: return failed(node);
    case NodeState::skipped: return skipped(node);
    case NodeState::stopped: return stopped();
  }
  return {};
}

Explainer::Story Explainer::blocked(NodeIndex node) const {
  Nodes before = dependencies(node);
  std::erase_if(before, [this](NodeIndex index) { return is_terminal(state_of(index)); });
  std::string_view what = " to succeed";
  switch (state_.spec(node).trigger) {
    case Trigger::all_succeeded: break;
    case Trigger::all_finished: what = " to end"; break;
    case Trigger::any_failed: what = " to fail: it runs only then"; break;
  }
  std::string text = "it waits for " + named(before) + std::string{what};
  return {WaitReason::dependency, std::move(text), {}, std::move(before)};
}

/// What keeps a node from being submitted that may be: the run as a whole, or its slots, of which
/// only its holder knows.
Explainer::Story Explainer::ready(NodeIndex node) const {
  if (!context_.quarantined.empty()) {
    return {WaitReason::quarantine, "the run is left alone: " + context_.quarantined};
  }
  if (context_.without_executor.contains(node)) {
    return {WaitReason::task_missing,
            "nobody here has an executor for it; it waits for somebody who has"};
  }
  if (context_.holder && context_.holder->empty()) {
    return {WaitReason::lease, "nobody schedules the run; it waits for a replica to take it"};
  }
  const std::string holder = context_.holder ? excerpt(*context_.holder) : "its holder";
  if (!context_.parked.empty()) {
    return {WaitReason::lease, holder + " has parked the run: " + context_.parked};
  }
  if (context_.trusted_until && *context_.trusted_until <= context_.now) {
    return {WaitReason::lease, holder + " is not sure of the run's lease any more"};
  }
  if (context_.is_draining) {
    return {WaitReason::lease, holder + " starts nothing more and lets go of the run"};
  }
  if (!context_.slots_free) {
    return {WaitReason::lease, context_.holder
                                   ? holder + " schedules the run and does not answer now"
                                   : "nobody who schedules the run answers now"};
  }
  return slots(node);
}

Explainer::Story Explainer::slots(NodeIndex node) const {
  const std::uint32_t width = state_.width(node);
  if (*context_.slots_free >= width && !context_.slots_contended) {
    return {WaitReason::none, "it starts with the next pass of its run"};
  }
  std::string text = "it waits for " + (width == 1 ? "a slot" : std::to_string(width) + " slots") +
                     "; this run uses " + std::to_string(state_.run().slots_busy) + ", " +
                     std::to_string(*context_.slots_free) + " are free";
  text += context_.slots_contended ? ", others wait too" : "";
  return {WaitReason::slot, std::move(text), {}, slot_takers()};
}

Explainer::Story Explainer::backing_off(NodeIndex node) const {
  const WallTime due = record(node).due_at;
  if (due <= context_.now) {
    Story held_back = ready(node);
    // Its wait has to be ended by a pass before it asks for a slot.
    return held_back.reason == WaitReason::slot
               ? Story{WaitReason::none, "its wait is over: it goes on with the next pass"}
               : held_back;
  }
  return {WaitReason::backoff, attempt(node) + " failed; the next one is due in " + left(due), due};
}

Explainer::Story Explainer::open(NodeIndex node) const {
  const NodeRecord& open = record(node);
  if (open.ending) {
    return told_to_end(node);
  }
  if (open.absent || open.state == NodeState::unreachable) {
    return out_of_sight(node);
  }
  if (open.state == NodeState::submitted) {
    return {WaitReason::executor,
            attempt(node) + " is with its executor, which has not said that it runs",
            moment(open.timeout_at)};
  }
  if (is_external(state_.spec(node))) {
    return {WaitReason::external, "somebody outside has to report the end of " + attempt(node),
            moment(open.timeout_at)};
  }
  return {WaitReason::none, attempt(node) + " runs for " +
                                write_duration(std::max(Duration{1}, context_.now - open.since))};
}

Explainer::Story Explainer::told_to_end(NodeIndex node) const {
  const bool is_timeout = record(node).ending == CancelReason::timeout;
  const WallTime due = record(node).due_at;
  return {WaitReason::stopping,
          attempt(node) + " was told to end" + (is_timeout ? ", its time being over" : "") +
              "; its executor may take " + left(due) + " more to say that it has",
          due};
}

Explainer::Story Explainer::out_of_sight(NodeIndex node) const {
  const NodeRecord& open = record(node);
  const ReplicaIdentity& custodian = state_.holders()[open.custodian];
  const std::string who = excerpt(custodian.replica) + " (pid " +
                          std::to_string(custodian.process.pid) + " on " +
                          excerpt(custodian.process.host) + ")";
  if (open.absent) {
    return {WaitReason::custodian,
            who + " does not know " + attempt(node) + "; it counts as lost in " + left(open.due_at),
            open.due_at};
  }
  return {WaitReason::custodian, who + " launched " + attempt(node) + " and cannot be asked now",
          moment(open.timeout_at)};
}

Explainer::Story Explainer::failed(NodeIndex node) const {
  const auto found = failures_.find(state_.spec(node).id);
  std::string text = attempt(node);
  if (found != failures_.end()) {
    const Outcome& outcome = found->second->outcome;
    text += " ended " + std::string{name_of(outcome.kind)} +
            (outcome.error.empty() ? "" : ": " + outcome.error);
  }
  return {WaitReason::finished, std::move(text) + "; only a rerun from failed runs it again"};
}

Explainer::Story Explainer::skipped(NodeIndex node) {
  if (unsuccessful_before(node).empty()) {
    return {WaitReason::dependency, "it runs only after a failure, and nothing before it failed"};
  }
  const Nodes& culprits = roots(node);
  return {WaitReason::dependency,
          "it was skipped, because not all before it succeeded: " + named(culprits),
          {},
          culprits};
}

Explainer::Story Explainer::stopped() const {
  switch (state_.run().stop_cause) {
    case StopCause::none: return {WaitReason::finished, "its attempt ended stopped"};
    case StopCause::request: return {WaitReason::stopping, "the run was stopped"};
    case StopCause::timeout: return {WaitReason::stopping, "the time of the run was over"};
    case StopCause::failure: break;
  }
  // The first failure is the one that stopped the run.
  Nodes culprits;
  if (!state_.failures().empty()) {
    if (const auto first = state_.definition().find(state_.failures().front().node)) {
      culprits.push_back(*first);
    }
  }
  return {WaitReason::stopping,
          "a failure stops the whole run: " + named(culprits),
          {},
          std::move(culprits)};
}

Nodes Explainer::dependencies(NodeIndex node) const {
  Nodes before;
  for (const std::string& id : state_.spec(node).after) {
    if (const auto found = state_.definition().find(id)) {
      before.push_back(*found);
    }
  }
  put_in_order(before);
  return before;
}

Nodes Explainer::unsuccessful_before(NodeIndex node) const {
  Nodes before = dependencies(node);
  std::erase_if(before, [this](NodeIndex index) {
    return !is_terminal(state_of(index)) || state_of(index) == NodeState::succeeded;
  });
  return before;
}

/// Without recursion: depth of a pipeline never becomes depth of the stack.
const Nodes& Explainer::roots(NodeIndex skipped) {
  std::vector<NodeIndex> path{skipped};
  while (!path.empty()) {
    const NodeIndex top = path.back();
    const Nodes before = roots_.contains(top) ? Nodes{} : unsuccessful_before(top);
    const std::size_t depth = path.size();
    std::copy_if(before.begin(), before.end(), std::back_inserter(path), [this](NodeIndex index) {
      return state_of(index) == NodeState::skipped && !roots_.contains(index);
    });
    if (path.size() == depth) {
      roots_.try_emplace(top, merged_roots(before));
      path.pop_back();
    }
  }
  return roots_.at(skipped);
}

/// One skipped without a failure behind it stands for itself.
Nodes Explainer::merged_roots(const Nodes& before) const {
  Nodes merged;
  for (const NodeIndex index : before) {
    const auto known = roots_.find(index);
    if (known != roots_.end() && !known->second.empty()) {
      merged.insert(merged.end(), known->second.begin(), known->second.end());
    } else {
      merged.push_back(index);
    }
  }
  put_in_order(merged);
  merged.resize(std::min(merged.size(), kLimits.culprits_listed_max));
  return merged;
}

Nodes Explainer::slot_takers() const {
  Nodes takers;
  for (const NodeIndex index : state_.open()) {
    if (takers.size() == kLimits.culprits_listed_max) {
      break;
    }
    if (!is_external(state_.spec(index)) && record(index).custodian == state_.run().holder) {
      takers.push_back(index);
    }
  }
  return takers;
}

/// `"a" (failed), "b" (running), "c" (ready) and others`.
std::string Explainer::named(const Nodes& nodes) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamedMax); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(state_.spec(nodes[i]).id) + " (" +
            std::string{name_of(state_of(nodes[i]))} + ')';
  }
  return text + (nodes.size() > kNamedMax ? " and others" : "");
}

}  // namespace

std::vector<NodeExplanation> explain(const PipelineState& state, const ExplainContext& context,
                                     std::optional<NodeIndex> node) {
  Explainer explainer{state, context};
  if (node) {
    return {explainer.explain(*node)};
  }
  std::vector<NodeExplanation> explanations;
  for (std::uint32_t i = 0; i < state.size(); ++i) {
    if (state.node(NodeIndex{i}).state == NodeState::succeeded) {
      continue;
    }
    NodeExplanation told = explainer.explain(NodeIndex{i});
    if (told.state != NodeState::running || told.reason != WaitReason::none) {
      explanations.push_back(std::move(told));
    }
  }
  return explanations;
}

std::vector<RunningNode> running_nodes(const PipelineState& state, WallTime now) {
  Nodes running;
  std::copy_if(state.open().begin(), state.open().end(), std::back_inserter(running),
               [&state](NodeIndex node) { return state.node(node).state == NodeState::running; });
  std::stable_sort(running.begin(), running.end(), [&state](NodeIndex a, NodeIndex b) {
    return state.node(a).since < state.node(b).since;
  });
  running.resize(std::min(running.size(), kLimits.nodes_listed_max));
  std::vector<RunningNode> told;
  for (const NodeIndex node : running) {
    const NodeRecord& record = state.node(node);
    told.push_back(
        {state.spec(node).id, record.attempt, std::max(Duration{0}, now - record.since)});
  }
  return told;
}

}  // namespace stagecall
