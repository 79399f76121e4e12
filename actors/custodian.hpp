// Keeps the attempts that this replica launched: hands launches and cancels to the executors, and
// brings their reports to the run's actor, or, where the run is held elsewhere, to its inbox.
// Custody stays here until an attempt's end is durable, whoever holds the run.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/observed.hpp"
#include "actors/settings.hpp"
#include "stagecall/executor.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace stagecall {

class Custodian : public Observed<CustodianHandle::base> {
 public:
  /// The executors outlive the actor. The first one that can run a node gets it.
  Custodian(caf::actor_config& config, std::vector<Executor*> executors, StoreHandle store,
            SharedSettings settings);

  const char* name() const override { return "custodian"; }
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  template <class Item>
  using ByExecutor = std::map<Executor*, std::vector<Item>>;

  Executor* executor_of(const NodeSpec& node) const;
  void submit(const LaunchOrder& order);
  void cancel(const CancelOrder& order);
  void query(const QueryOrder& order);
  void acknowledge(const AcknowledgeOrder& order);
  void route(const ExecutorReports& reports);
  void to_inbox(const AttemptReport& report);
  void acknowledge_key(const AttemptKey& key);
  void interrupt_all();

  std::vector<Executor*> executors_;
  StoreHandle store_;
  SharedSettings settings_;
  std::unordered_map<AttemptKey, Executor*> custody_;  // launched here, end not yet durable
  std::unordered_map<RunId, PipelineHandle> runs_;
  std::unordered_map<caf::actor_id, RunId> run_of_;
  std::map<std::string, std::uint64_t> counters_;
};

}  // namespace stagecall
