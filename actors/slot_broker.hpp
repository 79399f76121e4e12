// Shares the slots of this replica between its runs; the rule is core's SlotPool.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/observed.hpp"
#include "core/admission.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <unordered_map>

namespace stagecall {

class SlotBroker : public Observed<SlotBrokerHandle::base> {
 public:
  SlotBroker(caf::actor_config& config, std::uint32_t slots);

  const char* name() const override { return "slot_broker"; }
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  struct Client {
    PipelineHandle actor;
    bool told_contended = false;
  };

  void want(const WantSlots& request);
  void hand_out();
  void tell_contention();
  void forget(const caf::actor_addr& actor);

  SlotPool pool_;
  std::uint32_t slots_;
  std::unordered_map<RunId, Client> clients_;
  std::unordered_map<caf::actor_id, RunId> run_of_;
};

}  // namespace stagecall
