// What a run takes over from an earlier one of the same definition.
#pragma once

#include "core/pipeline_state.hpp"
#include "messages/events.hpp"
#include "stagecall/error.hpp"

#include <vector>

namespace stagecall {

/// For `begin()`: what succeeded is carried, provided that all before it is: what lies behind a
/// node that runs again runs again too. The others bring the number of their attempts only. Each
/// node comes after those before it. invalid_argument: the earlier run has not ended, or nothing in
/// it failed or was stopped.
Result<std::vector<NodeCarried>> carry_over(const PipelineState& earlier);

}  // namespace stagecall
