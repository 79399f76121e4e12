#include "persistence/lease_keeper.hpp"

#include "messages/leases.hpp"

#include <algorithm>
#include <utility>

namespace stagecall {
namespace {

BootTime trusted_until(BootTime asked_at, Duration ttl) {
  return asked_at + ttl - lease_drift(ttl);
}

}  // namespace

Lease::Keeper::Keeper(Grant grant)
    : grant_(std::move(grant)),
      until_(trusted_until(grant_.asked_at, grant_.ttl)),
      thread_([this](std::stop_token end) { keep(std::move(end)); }) {}

Lease::Keeper::~Keeper() {
  static_cast<void>(release());
}

Duration Lease::Keeper::held() const {
  return lock_clock().boot() - grant_.asked_at;
}

void Lease::Keeper::keep(std::stop_token end) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  std::optional<BootTime> due = grant_.asked_at + grant_.ttl / 3;
  while (due) {
    const BootTime now = lock_clock().boot();
    if (now >= *due || now >= until_) {
      due = renew();
      continue;
    }
    // In short parts: a suspended machine's waits stand still, its leases do not.
    wake.wait_for(lock, end, std::min(*due - now, grant_.ttl / 12), [] { return false; });
    if (end.stop_requested()) {
      return;
    }
  }
  lost_.request_stop();
}

std::optional<BootTime> Lease::Keeper::renew() {
  const BootTime start = lock_clock().boot();
  if (start >= until_) {
    return std::nullopt;
  }
  const auto verdicts = grant_.service->ask(
      [this](LeaseStore& store) { return store.renew({grant_.request}, grant_.ttl); });
  if (!verdicts) {
    // A call may take a tenth of the ttl: one that might end too late is not made.
    const BootTime again = lock_clock().boot() + grant_.ttl / 12;
    return again + grant_.ttl / 10 < until_ ? again : until_;
  }
  if (verdicts->front() != LeaseVerdict::granted) {
    return std::nullopt;
  }
  until_ = trusted_until(start, grant_.ttl);
  return start + grant_.ttl / 3;
}

Result<void> Lease::Keeper::release() {
  const std::lock_guard lock{releasing_};
  if (!released_) {
    thread_.request_stop();
    thread_.join();
    released_ = give_back();
  }
  return *released_;
}

Result<void> Lease::Keeper::give_back() {
  const auto verdicts =
      grant_.service->ask([this](LeaseStore& store) { return store.release({grant_.request}); });
  const bool is_lost = lost_.stop_requested() ||
                       (verdicts && verdicts->front() != LeaseVerdict::granted) ||
                       (!verdicts && lock_clock().boot() >= until_);
  if (is_lost) {
    return fail(ErrorCode::lease_lost, "lock " + grant_.request.run.pipeline +
                                           " was lost before it was released; somebody else may "
                                           "have held it meanwhile");
  }
  return verdicts ? Result<void>{} : tl::unexpected<Error>{verdicts.error()};
}

}  // namespace stagecall
