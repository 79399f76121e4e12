#include "actors/slot_broker.hpp"

#include <caf/system_messages.hpp>

namespace stagecall {

SlotBroker::SlotBroker(caf::actor_config& config, std::uint32_t slots)
    : Observed(config), pool_(slots), slots_(slots) {
  set_down_handler([this](caf::down_msg& down) { forget(down.source); });
}

void SlotBroker::on_exit() {
  clients_.clear();
}

SlotBroker::behavior_type SlotBroker::make_behavior() {
  return {
      [this](const Describe&) {
        return insight({{"slots", slots_}, {"free", pool_.free()}});
      },
      [this](const WantSlots& request) { want(request); },
      [this](const SlotsRequest& request) {
        return SlotsLeft{pool_.free(), pool_.others_wait(request.run)};
      },
  };
}

void SlotBroker::want(const WantSlots& request) {
  auto& client = clients_[request.run];
  if (client.actor != request.sender) {
    if (client.actor) {
      run_of_.erase(client.actor.id());
      pool_.remove(request.run);
    }
    client = {request.sender, false};
    run_of_[request.sender.id()] = request.run;
    monitor(request.sender);
  }
  pool_.give_back(request.run, request.returned);
  pool_.want(request.run, request.demand);
  hand_out();
}

void SlotBroker::hand_out() {
  for (const SlotPool::Grant& grant : pool_.grant()) {
    send(clients_.at(grant.run).actor, SlotsGranted{grant.slots});
  }
  tell_contention();
  trace_count("slots busy", slots_ - pool_.free());
}

/// Only those that have slots need to know; they are no more than there are slots.
void SlotBroker::tell_contention() {
  for (const RunId& run : pool_.holders()) {
    Client& client = clients_.at(run);
    const bool contended = pool_.others_wait(run);
    if (contended != client.told_contended) {
      client.told_contended = contended;
      send(client.actor, SlotsContended{contended});
    }
  }
}

void SlotBroker::forget(const caf::actor_addr& actor) {
  const auto found = run_of_.find(actor.id());
  if (found == run_of_.end()) {
    return;
  }
  pool_.remove(found->second);
  clients_.erase(found->second);
  run_of_.erase(found);
  hand_out();
}

}  // namespace stagecall
