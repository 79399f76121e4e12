#include "cli/runnable.hpp"

#include "executors/builtin_tasks.hpp"
#include "executors/process_executor.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace stagecall::cli {

std::set<NodeIndex> nodes_without_executor(const Definition& definition, const Clock& clock) {
  const std::array executors{make_builtin_tasks(clock), make_process_executor({}, clock)};
  std::set<NodeIndex> nodes;
  for (std::uint32_t i = 0; i < definition.graph().size(); ++i) {
    const NodeSpec& node = definition.node(NodeIndex{i});
    const bool needs_one = !is_external(node) && !std::holds_alternative<JoinAction>(node.action);
    const bool has_one =
        std::any_of(executors.begin(), executors.end(),
                    [&node](const auto& executor) { return executor->can_run(node); });
    if (needs_one && !has_one) {
      nodes.insert(NodeIndex{i});
    }
  }
  return nodes;
}

}  // namespace stagecall::cli
