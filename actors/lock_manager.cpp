#include "actors/lock_manager.hpp"

#include "actors/log.hpp"
#include "core/lease_term.hpp"

#include <cstdio>
#include <functional>
#include <utility>

namespace stagecall {

LockManager::LockManager(caf::actor_config& config, LeaseStore& leases, StoreHandle store,
                         SharedSettings settings)
    : Observed(config), leases_(leases), store_(std::move(store)), settings_(std::move(settings)) {}

LockManager::behavior_type LockManager::make_behavior() {
  return {
      [this](const Describe&) {
        auto counters = counters_;
        counters["held"] = held_.size();
        counters["unavailable_now"] = silent_since_ ? 1 : 0;
        return insight(std::move(counters));
      },
      [this](const AcquireLease& request) { return gather(request); },
      [this](const WatchLease& request) {
        if (const auto held = held_.find(request.run); held != held_.end()) {
          held->second.watcher = request.watcher;
        } else {
          send(request.watcher, LeaseGone{});
        }
      },
      [this](const ReleaseLease& request) { release(request); },
      [this](const Flush&) { flush(); },
      [this](const Tick&) {
        armed_ = false;
        renew_due();
        ask_store();
        arm();
      },
  };
}

void LockManager::on_exit() {
  for (const auto& [run, held] : held_) {
    releasing_.push_back({run, held.token});
    is_offering_ = true;
  }
  held_.clear();
  store_ = StoreHandle{};
  // Who asked is not left waiting; and a promise refers to its actor, which could not go before it.
  for (auto& [run, promise] : std::exchange(acquiring_, {})) {
    promise.deliver(LeaseResponse{
        fail(ErrorCode::lease_unavailable, "the lease of " + run.text() + ": the engine ends")});
  }
  release_gathered();
}

void LockManager::ask_store() {
  if (store_asked_at_) {
    return;
  }
  store_asked_at_ = settings_->clock->boot();
  request(store_, caf::infinite, Describe{})
      .then(
          [this](const ActorInsight&) {
            store_asked_at_.reset();
            store_silence_told_ = false;
          },
          [](const caf::error&) {});
}

template <class Verdicts>
void LockManager::note_health(const Verdicts& verdicts) {
  const BootTime now = settings_->clock->boot();
  if (verdicts) {
    if (silent_since_) {
      log().warn("leases_available leases={} after_ms={}", held_.size(),
                 (now - *silent_since_).count());
      silent_since_.reset();
    }
    return;
  }
  ++counters_["unavailable"];
  if (!silent_since_) {
    silent_since_ = now;
    log().warn("leases_unavailable leases={} error=\"{}\"", held_.size(), verdicts.error().message);
  }
}

BootTime LockManager::renewal_of(const RunId& run, BootTime granted) const {
  return stagecall::renewal_of(granted, settings_->lease_ttl, std::hash<RunId>{}(run));
}

LockManager::Promise LockManager::gather(const AcquireLease& request) {
  auto promise = make_response_promise<LeaseResponse>();
  acquiring_.emplace_back(request.run, promise);
  gather_flush();
  return promise;
}

void LockManager::release(const ReleaseLease& request) {
  const auto held = held_.find(request.run);
  if (held == held_.end()) {
    return;
  }
  releasing_.push_back({request.run, held->second.token});
  is_offering_ = is_offering_ || request.is_offered;
  held_.erase(held);
  gather_flush();
}

void LockManager::gather_flush() {
  if (!std::exchange(flush_sent_, true)) {
    send(this, Flush{});
  }
}

void LockManager::flush() {
  flush_sent_ = false;
  release_gathered();  // first: a run that comes back at once finds its lease free
  acquire_gathered();
  arm();
}

void LockManager::acquire_gathered() {
  if (acquiring_.empty()) {
    return;
  }
  const auto asked = std::exchange(acquiring_, {});
  std::vector<LeaseRequest> requests;
  for (const auto& [run, promise] : asked) {
    char token[33];
    std::snprintf(token, sizeof token, "%016llx%016llx",
                  static_cast<unsigned long long>(settings_->random()),
                  static_cast<unsigned long long>(settings_->random()));
    const auto held = held_.find(run);
    requests.push_back({run, held == held_.end() ? LeaseToken{token} : held->second.token});
  }
  const BootTime start = settings_->clock->boot();
  const auto verdicts = leases_.acquire(requests, settings_->lease_ttl);
  note_health(verdicts);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto promise = asked[i].second;
    if (!verdicts) {
      promise.deliver(LeaseResponse{tl::unexpected<Error>{verdicts.error()}});
    } else if ((*verdicts)[i] != LeaseVerdict::granted) {
      ++counters_["busy"];
      promise.deliver(LeaseResponse{
          fail(ErrorCode::lease_busy, "the lease of " + asked[i].first.text() + " is held")});
    } else {
      ++counters_["acquired"];
      Held& held = held_[asked[i].first];
      held.token = requests[i].token;
      held.until = trusted_until(start, settings_->lease_ttl);
      held.renew_at = renewal_of(asked[i].first, start);
      promise.deliver(LeaseResponse{Trust{asked[i].first, held.until}});
    }
  }
}

void LockManager::release_gathered() {
  if (releasing_.empty()) {
    return;
  }
  const auto requests = std::exchange(releasing_, {});
  const auto verdicts = leases_.release(requests);
  note_health(verdicts);
  // A release that fails ends with its ttl.
  if (verdicts) {
    counters_["released"] += requests.size();
  }
  if (std::exchange(is_offering_, false)) {
    settings_->nudge("", "");
  }
}

void LockManager::renew_due() {
  const BootTime start = settings_->clock->boot();
  if (store_asked_at_ && !may_renew(start, *store_asked_at_, settings_->lease_ttl)) {
    ++counters_["store_silent"];
    if (!std::exchange(store_silence_told_, true)) {
      log().warn("leases_not_renewed reason=\"the store does not answer\" leases={}", held_.size());
    }
    return;
  }
  std::vector<LeaseRequest> requests;
  for (const auto& [run, held] : held_) {
    if (held.renew_at <= start) {
      requests.push_back({run, held.token});
    }
  }
  if (requests.empty()) {
    return;
  }
  const auto verdicts = leases_.renew(requests, settings_->lease_ttl);
  note_health(verdicts);
  // Else not known to be ours any longer than it was: asked again at the next tick.
  if (verdicts) {
    renewed(requests, *verdicts, start);
  }
}

void LockManager::renewed(const std::vector<LeaseRequest>& requests,
                          const std::vector<LeaseVerdict>& verdicts, BootTime start) {
  std::size_t lost = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto held = held_.find(requests[i].run);
    if (verdicts[i] == LeaseVerdict::granted) {
      ++counters_["renewed"];
      held->second.until = trusted_until(start, settings_->lease_ttl);
      held->second.renew_at = renewal_of(held->first, start);
      if (held->second.watcher) {
        send(held->second.watcher, TrustRenewed{held->second.until});
      }
    } else {
      ++lost;
      log().debug("lease_lost run={}", requests[i].run.text());
      if (held->second.watcher) {
        send(held->second.watcher, LeaseGone{});
      }
      held_.erase(held);
    }
  }
  if (lost > 0) {
    counters_["lost"] += lost;
    log().warn("leases_lost leases={} of={}", lost, requests.size());
  }
}

void LockManager::arm() {
  if (!held_.empty() && !std::exchange(armed_, true)) {
    delayed_send(this, renew_after(settings_->lease_ttl) / 4, Tick{});
  }
}

}  // namespace stagecall
