// Turns what a run's core wishes into orders for the custodian: keys, nodes and custodians by name
// instead of by index.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/shared_store.hpp"
#include "core/pipeline_state.hpp"
#include "messages/effects.hpp"

#include <span>

namespace stagecall {

/// Whose orders these are, and until when a launch may take place.
struct OrderContext {
  const PipelineState& state;
  const RunId& run;
  Term term;
  BootTime trusted_until;
  std::shared_ptr<SharedStore> outputs{};
};

struct EffectOrders {
  AcknowledgeOrder acknowledged;
  LaunchOrder launches;
  CancelOrder cancels;
  QueryOrder queries;
};

EffectOrders orders_of(std::span<const Effect> effects, const OrderContext& context);

/// The key of a node's attempt.
AttemptKey attempt_key(const OrderContext& context, NodeIndex node, Attempt attempt, Nonce nonce);

}  // namespace stagecall
