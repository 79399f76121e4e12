// The one actor that talks to the lease store: acquires, renews and releases in batches, and tells
// each run's actor until when its lease may be trusted. Blocks in the lease store, so it is spawned
// detached outside tests.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/observed.hpp"
#include "actors/settings.hpp"
#include "persistence/lease_store.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stagecall {

class LockManager : public Observed<LockManagerHandle::base> {
 public:
  /// The lease store outlives the actor and is used by it alone.
  /// It renews only while `store` answers: who cannot record must not keep others from it.
  LockManager(caf::actor_config& config, LeaseStore& leases, StoreHandle store,
              SharedSettings settings);

  const char* name() const override { return "lock_manager"; }
  behavior_type make_behavior() override;
  /// Gives back all that is held.
  void on_exit() override;

 private:
  using Promise = caf::typed_response_promise<LeaseResponse>;

  struct Held {
    LeaseToken token;
    BootTime until{};
    BootTime renew_at{};
    PipelineHandle watcher{};
  };

  Promise gather(const AcquireLease& request);
  void release(const ReleaseLease& request);
  void gather_flush();
  void flush();
  void acquire_gathered();
  void release_gathered();
  void ask_store();
  void renew_due();
  void renewed(const std::vector<LeaseRequest>& requests, const std::vector<LeaseVerdict>& verdicts,
               BootTime start);
  void arm();
  /// What became of a call: one line when the lease store falls silent, one when it answers again.
  template <class Verdicts>
  void note_health(const Verdicts& verdicts);
  BootTime renewal_of(const RunId& run, BootTime granted) const;

  LeaseStore& leases_;
  StoreHandle store_;
  std::optional<BootTime> store_asked_at_{};  // and it has not answered yet
  bool store_silence_told_ = false;
  std::optional<BootTime> silent_since_{};  // the lease store
  SharedSettings settings_;
  std::map<RunId, Held> held_;
  std::vector<std::pair<RunId, Promise>> acquiring_;
  std::vector<LeaseRequest> releasing_;
  bool flush_sent_ = false;
  bool is_offering_ = false;  ///< some of releasing_ live on: others are told once they are free
  bool armed_ = false;
  std::map<std::string, std::uint64_t> counters_;
};

}  // namespace stagecall
