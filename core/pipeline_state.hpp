// The state of one run: a fold over its history. Changes only by absorbing a Draft, live and in
// recovery alike. Not thread-safe; owned by one run's actor.
#pragma once

#include "core/definition.hpp"
#include "core/node_record.hpp"
#include "messages/events.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecall {

class Draft;

/// Ready nodes of one priority and width, for the slot broker. Higher priority first, then the
/// widest: were thin ones first, a wide one might never find room.
struct SlotClass {
  std::int32_t priority = 0;
  std::uint32_t width = 1;  ///< slots that each of them takes
  friend bool operator==(const SlotClass&, const SlotClass&) = default;
  friend bool operator<(const SlotClass& a, const SlotClass& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.width > b.width;
  }
};

/// Order in which ready nodes get slots: that in which the broker grants them, so that a grant is
/// used for what it was meant for; then document order.
struct ReadyKey {
  SlotClass slot_class;
  NodeIndex node;
  friend bool operator==(const ReadyKey&, const ReadyKey&) = default;
  friend bool operator<(const ReadyKey& a, const ReadyKey& b) {
    return a.slot_class == b.slot_class ? a.node < b.node : a.slot_class < b.slot_class;
  }
};

class PipelineState {
 public:
  /// Every node blocked, nothing applied. A node takes at most `slots_max` slots: one that asks for
  /// more than its replica has runs alone.
  explicit PipelineState(std::shared_ptr<const Definition> definition,
                         std::uint32_t slots_max = std::numeric_limits<std::uint32_t>::max());

  const Definition& definition() const { return *definition_; }
  const std::shared_ptr<const Definition>& shared_definition() const { return definition_; }
  const RunRecord& run() const { return run_; }
  const NodeRecord& node(NodeIndex node) const { return nodes_[node.value]; }
  const NodeSpec& spec(NodeIndex node) const { return definition_->node(node); }
  std::size_t size() const { return nodes_.size(); }
  /// Everybody who has held the run, one entry a term.
  const std::vector<ReplicaIdentity>& holders() const { return holders_; }
  /// Nodes that ended failed, in the order of their ends.
  const std::vector<FailedNode>& failures() const { return failures_; }
  std::uint32_t width(NodeIndex node) const { return std::min(spec(node).slots, slots_max_); }
  ReadyKey ready_key(NodeIndex node) const { return {{spec(node).priority, width(node)}, node}; }

  // Derived from the records; kept so that a pass costs what changed.
  const std::set<ReadyKey>& ready() const { return ready_; }
  const std::map<SlotClass, std::uint32_t>& demand() const { return demand_; }
  const std::set<std::pair<WallTime, NodeIndex>>& deadlines() const { return deadlines_; }
  /// Nodes with an open attempt.
  const std::set<NodeIndex>& open() const { return open_; }

  /// Folds one stored pass in. Its events must be legal (see Draft::objection).
  void apply(const Pass& pass);
  /// The same for a pass that may be damaged: says what is not legal in it, and then changes
  /// nothing.
  [[nodiscard]] std::optional<std::string> try_apply(const Pass& pass);
  /// Takes over what a draft of this very state changed, as the pass `seq`.
  void absorb(const Draft& draft, Seq seq, Term term);

 private:
  void index(NodeIndex node, const NodeRecord& before, const NodeRecord& after);

  std::shared_ptr<const Definition> definition_;  // shared by all runs of one definition
  std::uint32_t slots_max_;
  RunRecord run_;
  std::vector<NodeRecord> nodes_;
  std::vector<ReplicaIdentity> holders_;
  std::vector<FailedNode> failures_;
  std::set<ReadyKey> ready_;
  std::map<SlotClass, std::uint32_t> demand_;
  std::set<std::pair<WallTime, NodeIndex>> deadlines_;
  std::set<NodeIndex> open_;
};

}  // namespace stagecall
