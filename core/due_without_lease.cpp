#include "core/due_without_lease.hpp"

#include "core/decide.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

namespace stagecall {
namespace {

/// One that was lost is told so by whoever replaces it.
bool is_due(const Effect& effect) {
  const auto* cancel = std::get_if<CancelEffect>(&effect);
  return cancel != nullptr && cancel->reason != CancelReason::lost;
}

}  // namespace

std::vector<Effect> due_without_lease(const PipelineState& state, std::span<const Input> inputs,
                                      WallTime now) {
  std::vector<Input> stops;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(stops),
               [](const Input& input) { return std::holds_alternative<StopInput>(input); });
  auto effects = decide(state, stops, {.now = now, .slots = {0, false}}).effects;
  std::erase_if(effects, [](const Effect& effect) { return !is_due(effect); });
  return effects;
}

}  // namespace stagecall
