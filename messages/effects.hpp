// What a run's core wishes to happen outside. Effects leave only after the commit of the events
// that they follow from.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/ids.hpp"

#include <cstdint>
#include <variant>

namespace stagecall {

/// Hand this recorded attempt to its executor.
struct LaunchEffect {
  NodeIndex node;
  Attempt attempt;
  Nonce nonce;
  friend bool operator==(const LaunchEffect&, const LaunchEffect&) = default;
};

/// Tell this attempt to end.
struct CancelEffect {
  NodeIndex node;
  Attempt attempt;
  Nonce nonce;
  CancelReason reason;
  friend bool operator==(const CancelEffect&, const CancelEffect&) = default;
};

/// Ask the attempt's custodian what became of it.
struct QueryEffect {
  NodeIndex node;
  Attempt attempt;
  Nonce nonce;
  std::uint32_t custodian;  ///< index into PipelineState::holders()
  friend bool operator==(const QueryEffect&, const QueryEffect&) = default;
};

/// The attempt's end is durable (or its report changes nothing): its executor may forget it.
struct AcknowledgeEffect {
  NodeIndex node;
  Attempt attempt;
  Nonce nonce;
  friend bool operator==(const AcknowledgeEffect&, const AcknowledgeEffect&) = default;
};

using Effect = std::variant<LaunchEffect, CancelEffect, QueryEffect, AcknowledgeEffect>;

}  // namespace stagecall
