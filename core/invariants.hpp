// What must hold of every run between passes. Checked after each absorb in Debug and in simulation.
#pragma once

#include "core/pipeline_state.hpp"

#include <string>
#include <vector>

namespace stagecall {

/// Every rule that is broken, in words; empty = all hold. Costs the whole DAG: not for a pass.
std::vector<std::string> broken_invariants(const PipelineState& state);

}  // namespace stagecall
