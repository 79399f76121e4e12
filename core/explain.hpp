// What can be told of the nodes of a run: how long one runs already.
#pragma once

#include "core/pipeline_state.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <vector>

namespace stagecall {

/// Nodes that run, the oldest first, at most Limits::nodes_listed_max.
std::vector<RunningNode> running_nodes(const PipelineState& state, WallTime now);

}  // namespace stagecall
