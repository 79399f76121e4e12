#include "core/due_without_lease.hpp"

#include "core/decide.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

namespace stagecall {
namespace {

/// One that was lost is told so by whoever replaces it.
bool is_due(const PipelineState& state, const Effect& effect, const std::string& incarnation) {
  const auto* cancel = std::get_if<CancelEffect>(&effect);
  if (cancel == nullptr || cancel->reason == CancelReason::lost) {
    return false;
  }
  const auto& holders = state.holders();
  const std::uint32_t custodian = state.node(cancel->node).custodian;
  return custodian < holders.size() && holders[custodian].incarnation == incarnation;
}

}  // namespace

std::vector<Effect> due_without_lease(const PipelineState& state, std::span<const Input> inputs,
                                      WallTime now, const std::string& incarnation) {
  std::vector<Input> stops;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(stops),
               [](const Input& input) { return std::holds_alternative<StopInput>(input); });
  auto effects = decide(state, stops, {.now = now, .slots = {0, false}}).effects;
  std::erase_if(effects, [&](const Effect& effect) { return !is_due(state, effect, incarnation); });
  return effects;
}

}  // namespace stagecall
