// What every actor of a replica knows of it: identity, clock, settings. Immutable.
#pragma once

#include "actors/shared_store.hpp"
#include "messages/leases.hpp"
#include "messages/limits.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace stagecall {

struct ReplicaSettings {
  ReplicaIdentity self;
  const Clock* clock = nullptr;  ///< outlives the actors
  Duration tick = kLimits.tick;
  Duration lease_ttl = kLimits.lease_ttl;
  std::uint32_t slots = 1;
  bool adopts_all = true;  ///< false: schedules only runs that it started or was asked to join
  /// Where attempts find what others have left; none: they are told of no inputs.
  std::shared_ptr<SharedStore> outputs{};
  /// Seeds nonces and jitter. Any thread.
  std::function<std::uint64_t()> random;
  /// Tells other processes of a change: an incarnation (empty = all) and a run's text.
  std::function<void(const std::string&, const std::string&)> nudge;
};

using SharedSettings = std::shared_ptr<const ReplicaSettings>;  // read by all actors of a replica

}  // namespace stagecall
