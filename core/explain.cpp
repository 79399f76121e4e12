#include "core/explain.hpp"

#include "messages/limits.hpp"

#include <algorithm>

namespace stagecall {

std::vector<RunningNode> running_nodes(const PipelineState& state, WallTime now) {
  std::vector<NodeIndex> running;
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
