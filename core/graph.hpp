// The shape of a pipeline: validated, immutable, compact. Iterative throughout: depth of a DAG
// never becomes depth of the stack.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/pipeline.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecall {

class Graph {
 public:
  /// Checks ids that are declared twice, unknown dependencies, self-dependencies and cycles.
  /// invalid_pipeline with problems (pointers `/nodes/I/id`, `/nodes/I/after/J`, for a cycle
  /// `/nodes/I`) in document order, at most Limits::problems_max, and `cycle` = exactly the ids on
  /// one cycle: each waits for the one before it, the first for the last.
  /// The form of ids is not judged here: an empty one names nothing and is passed over.
  static Result<Graph> build(const std::vector<NodeSpec>& nodes);

  std::size_t size() const { return offsets_.size() - 1; }
  std::size_t edges() const { return successors_.size(); }
  /// Nodes on the longest path.
  std::size_t depth() const { return depth_; }
  /// Who waits for this node; each once.
  std::span<const NodeIndex> successors(NodeIndex node) const;
  /// How many different nodes this one waits for.
  std::uint32_t dependencies(NodeIndex node) const { return dependencies_[node.value]; }

 private:
  std::vector<std::uint32_t> offsets_{0};  // size() + 1
  std::vector<NodeIndex> successors_;
  std::vector<std::uint32_t> dependencies_;
  std::size_t depth_ = 0;
};

}  // namespace stagecall
