#include "actors/assembly.hpp"

#include "actors/custodian.hpp"
#include "actors/lock_manager.hpp"
#include "actors/slot_broker.hpp"
#include "actors/supervisor.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <utility>

namespace stagecall {
namespace {

class CustodianSink final : public ReportSink {
 public:
  explicit CustodianSink(CustodianHandle custodian) : custodian_(std::move(custodian)) {}
  void report(std::vector<AttemptReport> reports) override {
    caf::anon_send(custodian_, ExecutorReports{std::move(reports)});
  }

 private:
  CustodianHandle custodian_;
};

template <class Actor, class Handle, class... Args>
Handle place(caf::actor_system& system, Placement placement, Args&&... args) {
  return placement == Placement::threads
             ? system.spawn<Actor, caf::detached>(std::forward<Args>(args)...)
             : system.spawn<Actor>(std::forward<Args>(args)...);
}

}  // namespace

Colleagues spawn_colleagues(caf::actor_system& system, const ReplicaParts& parts,
                            Placement placement, CommitCallback on_commit) {
  Colleagues colleagues;
  colleagues.store =
      place<StoreActor, StoreHandle>(system, placement, *parts.store, std::move(on_commit));
  colleagues.lock_manager = place<LockManager, LockManagerHandle>(system, placement, *parts.leases,
                                                                  colleagues.store, parts.settings);
  colleagues.slot_broker = system.spawn<SlotBroker>(parts.settings->slots);
  colleagues.custodian = system.spawn<Custodian>(parts.executors, colleagues.store, parts.settings);
  return colleagues;
}

SupervisorHandle spawn_supervisor(caf::actor_system& system, const Colleagues& colleagues,
                                  const SharedSettings& settings, RunLeftCallback on_run_left) {
  return system.spawn<Supervisor>(colleagues, settings, std::move(on_run_left));
}

void end_replica(ReplicaActors actors) {
  const auto end = [](const auto& handle) {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  };
  end(actors.supervisor);
  end(actors.colleagues.custodian);
  end(actors.colleagues.slot_broker);
  end(actors.colleagues.lock_manager);
  end(actors.colleagues.store);
}

std::unique_ptr<ReportSink> make_report_sink(const CustodianHandle& custodian) {
  return std::make_unique<CustodianSink>(custodian);
}

}  // namespace stagecall
