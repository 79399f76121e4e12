#include "core/definition.hpp"

#include <set>
#include <utility>
#include <variant>

namespace stagecall {

Definition::Definition(PipelineSpec spec, Graph graph)
    : spec_(std::move(spec)), graph_(std::move(graph)) {
  index_.reserve(spec_.nodes.size());
  for (std::uint32_t i = 0; i < spec_.nodes.size(); ++i) {
    index_.emplace(spec_.nodes[i].id, NodeIndex{i});
  }
  std::set<std::string_view> tasks;
  std::set<CommandExecutor> executors;
  for (std::uint32_t i = 0; i < spec_.nodes.size(); ++i) {
    const Action& action = spec_.nodes[i].action;
    const auto* task = std::get_if<TaskAction>(&action);
    const auto* command = std::get_if<CommandAction>(&action);
    if ((task != nullptr && tasks.insert(task->name).second) ||
        (command != nullptr && executors.insert(command->executor).second)) {
      actions_.push_back(NodeIndex{i});
    }
  }
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
