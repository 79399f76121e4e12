// What binds a run's attempts though nothing may be decided for it.
#pragma once

#include "core/pipeline_state.hpp"
#include "messages/effects.hpp"
#include "messages/inputs.hpp"

#include <span>
#include <string>
#include <vector>

namespace stagecall {

/// Attempts in the custody of this incarnation that are to be told to end by what is durable
/// already: a stop among the inputs, or a deadline that has passed. Only cancels, which may be
/// repeated. What follows from those ends is decided under the next trusted lease, from the same
/// inputs.
std::vector<Effect> due_without_lease(const PipelineState& state, std::span<const Input> inputs,
                                      WallTime now, const std::string& incarnation);

}  // namespace stagecall
