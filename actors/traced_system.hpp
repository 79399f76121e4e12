// How an actor finds the trace of its engine: through the configuration of its system.
#pragma once

#include "actors/tracer.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace stagecall {

struct TracedSystemConfig : caf::actor_system_config {
  Tracer tracer{};
};

/// None: the system is a host's, whose actors are not traced.
inline Tracer* tracer_of(const caf::actor_system& system) {
  const auto* config = dynamic_cast<const TracedSystemConfig*>(&system.config());
  return config == nullptr ? nullptr : &const_cast<TracedSystemConfig*>(config)->tracer;
}

}  // namespace stagecall
