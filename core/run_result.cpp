#include "core/run_result.hpp"

namespace stagecall {

std::optional<RunState> run_result(const NodeCounts& counts, StopCause stop_cause) {
  for (std::size_t state = 0; state < counts.size(); ++state) {
    if (!is_terminal(static_cast<NodeState>(state)) && counts[state] > 0) {
      return std::nullopt;
    }
  }
  const auto has = [&counts](NodeState state) {
    return counts[static_cast<std::size_t>(state)] > 0;
  };
  if (has(NodeState::failed) || stop_cause == StopCause::timeout) {
    return RunState::failed;
  }
  return has(NodeState::stopped) ? RunState::stopped : RunState::succeeded;
}

}  // namespace stagecall
