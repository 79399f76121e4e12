// One engine process put together: store, leases, executors, actors; and the blocking calls that
// threads outside the actor system make. Which actors get a thread of their own is chosen here.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/settings.hpp"
#include "actors/supervisor.hpp"
#include "persistence/lease_store.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/store.hpp"
#include "stagecall/executor.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

ReplicaActors spawn_replica(caf::actor_system& system, const ReplicaParts& parts,
                            Placement placement, RunLeftCallback on_run_left);

/// Sends exits to all of them. Afterwards no handle may be kept, or the system does not end.
void end_replica(ReplicaActors actors);

/// Where executors report to; hands their reports to the custodian. Any thread.
std::unique_ptr<ReportSink> make_report_sink(const CustodianHandle& custodian);

struct ReplicaOptions {
  std::string store_path;
  std::string replica;  ///< its name; empty = host and pid
  Durability durability = Durability::full;
  Duration tick = kLimits.tick;
  Duration lease_ttl = kLimits.lease_ttl;
  std::uint32_t slots = 1;
  bool adopts_all = false;
};

/// Thread-safe. The destructor drains within a deadline.
class Replica {
 public:
  /// Opens the store (creating it), its lease file, the executors and the actors.
  static Result<std::unique_ptr<Replica>> open(const ReplicaOptions& options);
  virtual ~Replica() = default;

  /// Durable when it returns: a new run, the pipeline's live one, or the request id's.
  virtual Result<RunStartedReply> start(std::shared_ptr<const Definition> definition,
                                        const std::string& request_id) = 0;
  /// Schedules the run here if nobody else does, now or later.
  virtual void join(const RunId& run) = 0;
  /// Waits until the run's actor has ended here; none = not within the wait.
  virtual std::optional<RunLeft> wait(const RunId& run, Duration wait) = 0;
  /// The run as its actor here sees it; none = not held here.
  virtual std::optional<RunStatus> status(const RunId& run) = 0;
  /// Starts nothing more; local attempts may go on for the grace, then end as interrupted. Returns
  /// when all is recorded and released, or when the grace and a margin are over.
  virtual void drain(Duration grace) = 0;
};

/// `FILE.db-leases`, beside the store.
std::string lease_path(const std::string& store_path);
/// `FILE.db.d`, beside the store: nudges, launchers, attempts.
std::string store_folder(const std::string& store_path);

}  // namespace stagecall
