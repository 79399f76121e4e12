#include "core/rerun.hpp"

#include <string>
#include <variant>

namespace stagecall {
namespace {

std::uint32_t count(const PipelineState& state, NodeState wanted) {
  return state.run().counts[static_cast<std::size_t>(wanted)];
}

}  // namespace

Result<std::vector<NodeCarried>> carry_over(const PipelineState& earlier) {
  if (!is_terminal(earlier.run().state)) {
    return fail(ErrorCode::invalid_argument,
                "it is " + std::string{name_of(earlier.run().state)} +
                    ": only a run that has ended can be run again from what failed");
  }
  if (count(earlier, NodeState::failed) + count(earlier, NodeState::stopped) == 0) {
    return fail(ErrorCode::invalid_argument,
                "it has " + std::string{name_of(earlier.run().state)} +
                    ": no node failed or was stopped, so there is nothing to run again");
  }
  const Graph& graph = earlier.definition().graph();
  std::vector<std::uint32_t> waiting(graph.size());
  std::vector<bool> runs_again(graph.size());
  std::vector<NodeIndex> next;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    waiting[i] = graph.dependencies(NodeIndex{i});
    if (waiting[i] == 0) {
      next.push_back(NodeIndex{i});
    }
  }
  std::vector<NodeCarried> carried;
  while (!next.empty()) {
    const NodeIndex node = next.back();
    next.pop_back();
    const NodeRecord& record = earlier.node(node);
    const bool stays = record.state == NodeState::succeeded && !runs_again[node.value];
    // A join behind what is carried succeeds by rule.
    const bool is_join = std::holds_alternative<JoinAction>(earlier.spec(node).action);
    if (stays ? !is_join : record.attempt.value > 0) {
      carried.push_back({node, record.attempt, stays});
    }
    for (const NodeIndex successor : graph.successors(node)) {
      runs_again[successor.value] = runs_again[successor.value] || !stays;
      if (--waiting[successor.value] == 0) {
        next.push_back(successor);
      }
    }
  }
  return carried;
}

}  // namespace stagecall
