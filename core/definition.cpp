#include "core/definition.hpp"

#include <set>
#include <utility>
#include <variant>

namespace stagecall {
namespace {

/// What an executor is asked to run: a task, or commands of a kind.
using Work = std::variant<std::string_view, CommandExecutor>;

/// None: no executor is asked.
std::optional<Work> work_of(const NodeSpec& node) {
  if (const auto* task = std::get_if<TaskAction>(&node.action)) {
    return std::string_view{task->name};
  }
  if (const auto* command = std::get_if<CommandAction>(&node.action)) {
    return command->executor;
  }
  return std::nullopt;
}

}  // namespace

Definition::Definition(PipelineSpec spec, Graph graph)
    : spec_(std::move(spec)), graph_(std::move(graph)) {
  index_.reserve(spec_.nodes.size());
  for (std::uint32_t i = 0; i < spec_.nodes.size(); ++i) {
    index_.emplace(spec_.nodes[i].id, NodeIndex{i});
  }
  std::set<Work> seen;
  for (std::uint32_t i = 0; i < spec_.nodes.size(); ++i) {
    if (const auto work = work_of(spec_.nodes[i]); work && seen.insert(*work).second) {
      actions_.push_back(NodeIndex{i});
    }
  }
}

std::vector<NodeIndex> Definition::like(NodeIndex action) const {
  const auto wanted = work_of(node(action));
  std::vector<NodeIndex> nodes;
  for (std::uint32_t i = 0; wanted && i < spec_.nodes.size(); ++i) {
    if (work_of(spec_.nodes[i]) == wanted) {
      nodes.push_back(NodeIndex{i});
    }
  }
  return nodes;
}

Result<std::shared_ptr<const Definition>> Definition::build(PipelineSpec spec) {
  auto graph = Graph::build(spec.nodes);
  if (!graph) {
    return tl::unexpected<Error>{std::move(graph).error()};
  }
  return std::shared_ptr<const Definition>{new Definition{std::move(spec), std::move(*graph)}};
}

std::optional<NodeIndex> Definition::find(std::string_view id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace stagecall
