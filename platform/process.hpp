// Which process this is, and whether another one still lives. Linux: /proc.
#pragma once

#include "messages/leases.hpp"

#include <cstdint>

namespace stagecall {

/// This process. Reads /proc once and remembers.
const ProcessIdentity& this_process();

enum class Liveness : std::uint8_t {
  alive,
  gone,     ///< proven: same host, and its boot or its start time has passed
  unknown,  ///< another host, or it cannot be looked at (no descriptor is left)
};

Liveness liveness_of(const ProcessIdentity& process);
/// Of an engine: in this process it may have ended before the process does.
Liveness liveness_of(const ReplicaIdentity& replica);

}  // namespace stagecall
