// A pipeline ready to run: what its author wrote, its graph, and the index of its ids. Immutable
// and shared by all of its runs.
#pragma once

#include "core/graph.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/pipeline.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stagecall {

class Definition {
 public:
  /// invalid_pipeline as Graph::build says.
  static Result<std::shared_ptr<const Definition>> build(PipelineSpec spec);

  Definition(const Definition&) = delete;  // the index looks into its own spec
  Definition& operator=(const Definition&) = delete;

  const PipelineSpec& spec() const { return spec_; }
  const Graph& graph() const { return graph_; }
  const NodeSpec& node(NodeIndex node) const { return spec_.nodes[node.value]; }
  std::optional<NodeIndex> find(std::string_view id) const;
  /// One node for each different thing that executors are asked to run: each task, each kind of
  /// command executor.
  const std::vector<NodeIndex>& actions() const { return actions_; }
  /// All nodes for which the executors are asked to run the same as for this one.
  std::vector<NodeIndex> like(NodeIndex action) const;

 private:
  Definition(PipelineSpec spec, Graph graph);

  PipelineSpec spec_;
  Graph graph_;
  std::unordered_map<std::string_view, NodeIndex> index_;  // views into spec_
  std::vector<NodeIndex> actions_;
};

}  // namespace stagecall
