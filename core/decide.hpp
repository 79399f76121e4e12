// The decisions of a run: what its inputs, the time and its slots make of it. Pure: the same state,
// inputs and context give the same decision.
#pragma once

#include "core/draft.hpp"
#include "core/pipeline_state.hpp"
#include "messages/effects.hpp"
#include "messages/events.hpp"
#include "messages/inputs.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stagecall {

/// How many slots a pass may fill.
struct SlotAllowance {
  std::uint32_t granted = 0;  ///< held by the run in all, those of running attempts included
  bool reuse = true;          ///< slots that this pass frees may be filled again by it
};

struct DecideContext {
  WallTime now;
  SlotAllowance slots{};
  std::uint64_t random = 0;  ///< seeds nonces and jitter; new for each pass
};

struct Decision {
  Draft draft;                  ///< the state with the events applied; absorb it once committed
  std::vector<Event> events{};  ///< to be appended; may be empty
  std::vector<NodeOutput> outputs{};     ///< to be kept in the same transaction
  std::vector<Leftover> leftovers{};     ///< and these, until their ends are told
  std::vector<AttemptMark> confirmed{};  ///< leftovers, if they are some, whose ends are told now
  std::vector<Effect> effects{};         ///< to be carried out after the commit, in order
};

/// Whether there is anything to be written.
inline bool is_to_be_written(const Decision& decision) {
  return !decision.events.empty() || !decision.confirmed.empty();
}

/// One pass. Inputs that say nothing new (old attempts, finished nodes, repeats) change nothing.
Decision decide(const PipelineState& state, std::span<const Input> inputs,
                const DecideContext& context);

/// The first pass of a new run; with a holder it opens the first term as well. A rerun brings what
/// carry_over() gave.
Decision begin(const PipelineState& fresh, std::optional<ReplicaIdentity> holder, WallTime now,
               std::span<const NodeCarried> carried = {});

/// When somebody must look at the run again, whatever happens outside; none = only its inbox can
/// change it. `tick` is the wake-up of a run with open attempts and no deadline.
std::optional<WallTime> next_due(const Draft& draft, Duration tick);

}  // namespace stagecall
