#include "core/pipeline_state.hpp"

#include "core/draft.hpp"

#include <algorithm>
#include <cassert>

namespace stagecall {

PipelineState::PipelineState(std::shared_ptr<const Definition> definition, std::uint32_t slots_max)
    : definition_(std::move(definition)), slots_max_(slots_max) {
  const Graph& graph = definition_->graph();
  nodes_.resize(graph.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].waiting = graph.dependencies(NodeIndex{i});
  }
  run_.counts[static_cast<std::size_t>(NodeState::blocked)] =
      static_cast<std::uint32_t>(nodes_.size());
}

void PipelineState::apply(const Pass& pass) {
  Draft draft{*this, pass.at};
  for (const Event& event : pass.events) {
    draft.apply(event);
  }
  absorb(draft, pass.seq, pass.term);
}

std::optional<std::string> PipelineState::try_apply(const Pass& pass) {
  Draft draft{*this, pass.at};
  for (const Event& event : pass.events) {
    if (auto objection = draft.objection(event)) {
      return objection;
    }
    draft.apply(event);
  }
  absorb(draft, pass.seq, pass.term);
  return std::nullopt;
}

void PipelineState::absorb(const Draft& draft, Seq seq, Term term) {
  assert(&draft.base() == this && "a draft is absorbed by the state that it was made on");
  for (const auto& [node, record] : draft.touched()) {
    NodeRecord& own = nodes_[node.value];
    index(node, own, record);
    own = record;
  }
  run_ = draft.run();
  run_.last_seq = seq;
  run_.term = term;
  for (const ReplicaIdentity& holder : draft.holders_added()) {
    holders_.push_back(holder);
  }
  for (const FailedNode& failure : draft.failures_added()) {
    failures_.push_back(failure);
  }
}

void PipelineState::index(NodeIndex node, const NodeRecord& before, const NodeRecord& after) {
  const bool was_ready = before.state == NodeState::ready;
  const bool is_ready = after.state == NodeState::ready;
  if (was_ready != is_ready) {
    const ReadyKey key = ready_key(node);
    if (is_ready) {
      ready_.insert(key);
      ++demand_[key.slot_class];
    } else {
      ready_.erase(key);
      if (--demand_[key.slot_class] == 0) {
        demand_.erase(key.slot_class);
      }
    }
  }
  if (before.deadline() != after.deadline()) {
    deadlines_.erase({before.deadline(), node});
    if (after.deadline() != kNever) {
      deadlines_.insert({after.deadline(), node});
    }
  }
  if (has_open_attempt(before.state) != has_open_attempt(after.state)) {
    if (has_open_attempt(after.state)) {
      open_.insert(node);
    } else {
      open_.erase(node);
    }
  }
}

}  // namespace stagecall
