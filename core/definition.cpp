#include "core/definition.hpp"

#include <utility>

namespace stagecall {

Definition::Definition(PipelineSpec spec, Graph graph)
    : spec_(std::move(spec)), graph_(std::move(graph)) {
  index_.reserve(spec_.nodes.size());
  for (std::uint32_t i = 0; i < spec_.nodes.size(); ++i) {
    index_.emplace(spec_.nodes[i].id, NodeIndex{i});
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
