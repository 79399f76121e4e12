// The actors of one replica: spawned over a store, leases and executors, and ended. Which of them
// get a thread of their own is chosen here.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/settings.hpp"
#include "actors/store_actor.hpp"
#include "actors/supervisor.hpp"
#include "persistence/lease_store.hpp"
#include "persistence/store.hpp"
#include "stagecall/executor.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace stagecall {

/// What the actors stand on; all of it outlives them.
struct ReplicaParts {
  Store* store = nullptr;
  LeaseStore* leases = nullptr;
  std::vector<Executor*> executors{};
  SharedSettings settings;
};

struct ReplicaActors {
  Colleagues colleagues;
  SupervisorHandle supervisor;
};

enum class Placement : std::uint8_t {
  threads,    ///< actors that block have threads of their own
  scheduler,  ///< all on the system's scheduler, for tests in virtual time
};

/// All but the supervisor: who holds runs. Executors are opened before it comes, since with its
/// first look it may have something launched.
Colleagues spawn_colleagues(caf::actor_system& system, const ReplicaParts& parts,
                            Placement placement, CommitCallback on_commit = {});
SupervisorHandle spawn_supervisor(caf::actor_system& system, const Colleagues& colleagues,
                                  const SharedSettings& settings, RunLeftCallback on_run_left = {});
/// Sends exits to all of them. Afterwards no handle may be kept, or the system does not end.
void end_replica(ReplicaActors actors);

/// Where executors report to; hands their reports to the custodian. Any thread.
std::unique_ptr<ReportSink> make_report_sink(const CustodianHandle& custodian);

}  // namespace stagecall
