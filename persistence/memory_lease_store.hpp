// Leases in memory: the same contract among the replicas of one process, for a host that keeps its
// store in memory, and for simulation. A holder that is gone is waited for like any other.
#pragma once

#include "persistence/lease_store.hpp"
#include "stagecall/time.hpp"

#include <memory>

namespace stagecall {

/// What several connections share, as several connections to one server do.
struct MemoryLeases;

std::shared_ptr<MemoryLeases> make_memory_leases();

/// One more connection, for this holder. Each belongs to one thread at a time; several may work at
/// once. Leases expire by the clock's boot time, the same for all; it must outlive the connection.
std::unique_ptr<LeaseStore> open_memory_lease_store(std::shared_ptr<MemoryLeases> leases,
                                                    const ReplicaIdentity& holder,
                                                    const Clock& clock);

}  // namespace stagecall
