// One run: tells the core what happened, has its events recorded, and carries out its effects after
// the commit. Holds no rule. Ends when its run does, or when it may no longer act for it.
#pragma once

#include "actors/effect_orders.hpp"
#include "actors/interfaces.hpp"
#include "actors/observed.hpp"
#include "actors/run_progress.hpp"
#include "actors/run_trace.hpp"
#include "actors/settings.hpp"
#include "core/decide.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecall {

/// The other actors of the replica.
struct Colleagues {
  StoreHandle store;
  LockManagerHandle lock_manager;
  SlotBrokerHandle slot_broker;
  CustodianHandle custodian;
};

/// What the supervisor hands over with a run.
struct HeldRun {
  RunRow row;
  std::vector<StoredPass> history;
  std::shared_ptr<const Definition> definition;  // shared with the definition's other runs
  Term term;                                     ///< opened for this replica
  bool term_recorded = false;  ///< the history says so already (a run that was started here)
  BootTime trusted_until;
};

class PipelineActor : public Observed<PipelineHandle::base> {
 public:
  PipelineActor(caf::actor_config& config, HeldRun held, Colleagues colleagues,
                SupervisorHandle supervisor, SharedSettings settings);

  const char* name() const override { return "pipeline"; }
  behavior_type make_behavior() override;
  void on_exit() override;
  void after_exception(const std::string& text) override;

 private:
  /// A decision whose commit is awaited, with what it was made of in case it must be made anew.
  struct Flight {
    Decision decision;
    std::vector<Input> inputs;
    std::vector<std::int64_t> consumed;
    std::uint32_t slots_granted = 0;  ///< that the decision could fill
  };
  enum class Cause : std::uint8_t { tick, event };

  void start();
  void want_pass(Cause cause);
  void pass();
  SlotAllowance allowance() const;
  RunSummary summary_of(const Draft& draft) const;
  void commit(Flight flight);
  void committed(const Result<Reply>& reply);
  void absorb(Seq seq);
  void retake_flight();
  void hold_pending(Duration wait);
  void read_back();
  void settle_doubt(const Result<RunRow>& row);
  void take_reports(const std::vector<ReportInput>& reports);
  void look_into_inbox();
  void inbox_read(const Result<std::vector<InboxRow>>& rows);
  void take_inbox(const std::vector<InboxRow>& rows);
  void park();
  void carry_out(const std::vector<Effect>& effects);
  void balance_slots(std::uint32_t considered);
  void leave_if_done();
  void leave(const std::string& reason);
  void withhold_launches();
  void tick(const Tick& tick);
  void arm();
  OrderContext order_context() const;
  RunStatus status() const;
  RunView view() const;
  ActorInsight describe();
  std::string subject() const override { return run_.text(); }
  WallTime now() const;

  RunId run_;
  Term term_;
  PipelineState state_;
  std::optional<std::string> fold_objection_;  // the history is damaged: nothing is done
  PassCounts passes_;
  Colleagues colleagues_;
  SupervisorHandle supervisor_;
  SharedSettings settings_;
  RunTrace trace_;
  RunProgress progress_;
  WallTime wall_anchor_;  // wall time of boot_anchor_: deadlines run on the boot clock in a term
  BootTime boot_anchor_;
  BootTime trusted_until_;

  std::vector<Input> pending_;
  std::vector<std::int64_t> pending_consumed_;  // inbox rows among pending_
  Cause pending_cause_ = Cause::tick;
  bool pass_wanted_ = false;   // even if nothing is pending: slots, time
  bool tick_pending_ = false;  // the next pass is told that time has passed
  std::optional<Flight> flight_;
  bool inbox_seen_ = false;  // once: before that there is no pass
  bool inbox_reading_ = false;
  bool inbox_again_ = false;
  bool parked_ = false;
  bool draining_ = false;
  bool left_ = false;

  std::uint32_t slots_granted_ = 0;
  bool slots_contended_ = false;
  std::optional<std::map<SlotClass, std::uint32_t>> demand_told_;  // none: not what is believed

  std::uint64_t timer_generation_ = 0;
  BootTime timer_due_ = BootTime::max();  // of the armed timer
  BootTime tick_due_;  // the first one by the run's hash, later ones a tick after the last pass
  bool ticked_ = false;
  BootTime pending_due_ = BootTime::max();  // when what is pending gets a pass of its own
};

}  // namespace stagecall
