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
#include <optional>
#include <string>
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

  /// An attempt that was launched here, until its end is durable.
  struct Custody {
    Executor* executor = nullptr;            // none: no executor took it
    std::shared_ptr<const NodeSpec> node{};  // shared with the run's definition
    std::optional<SaysEnded> end{};  // told to the run's actor, which may end before it is recorded
  };

  Lacking lacking(const Definition& definition) const;
  void attach(const AttachRun& request);
  void detach(const caf::actor_addr& actor);
  Executor* executor_of(const NodeSpec& node) const;
  void submit(const LaunchOrder& order);
  void submit_failed(const LaunchOrder& order, Executor& executor, const std::string& cause);
  void withhold(const WithholdLaunches& order);
  void cancel(const CancelOrder& order);
  void query(const QueryOrder& order);
  void acknowledge(const AcknowledgeOrder& order);
  void route(const ExecutorReports& reports);
  void note_end(const AttemptReport& report);
  std::vector<AttemptReport> kept_ends(const RunId& run) const;
  void to_inbox(const AttemptReport& report);
  void tell_holder(const RunId& run, const InboxReply& reply);
  void acknowledge_key(const AttemptKey& key);
  Executor* release(const AttemptKey& key);
  void interrupt_all();
  Retired retire();

  std::vector<Executor*> executors_;
  StoreHandle store_;
  SharedSettings settings_;
  std::unordered_map<RunId, std::unordered_map<AttemptKey, Custody>> custody_;
  std::unordered_map<RunId, PipelineHandle> runs_;
  std::unordered_map<caf::actor_id, RunId> run_of_;
  bool draining_ = false;
  std::map<std::string, std::uint64_t> counters_;
};

}  // namespace stagecall
