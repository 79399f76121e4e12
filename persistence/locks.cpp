#include "stagecall/locks.hpp"

#include "messages/limits.hpp"
#include "persistence/lease_keeper.hpp"
#include "persistence/lock_service.hpp"
#include "platform/random.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace stagecall {
namespace {

/// Waits, until it is over or cancelled.
class Pause {
 public:
  explicit Pause(std::stop_token cancel) : cancel_(std::move(cancel)) {}

  void wait_for(Duration time) {
    std::unique_lock lock{mutex_};
    woken_.wait_for(lock, cancel_, time, [this] { return is_over_; });
  }
  /// The present wait and all later ones are over.
  void end() {
    {
      const std::lock_guard lock{mutex_};
      is_over_ = true;
    }
    woken_.notify_all();
  }

 private:
  std::stop_token cancel_;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  bool is_over_ = false;
};

Result<void> check(const std::string& key, const LockOptions& options) {
  if (key.empty() || key.size() > kLimits.id_bytes_max) {
    return fail(ErrorCode::invalid_argument, "a lock's key of " + std::to_string(key.size()) +
                                                 " bytes is not allowed; give 1 to 255");
  }
  if (options.wait.bound().value_or(Duration{0}) < Duration{0}) {
    return fail(ErrorCode::invalid_argument,
                "lock " + key + ": a bounded wait is longer than 0; to try once wait not at all");
  }
  if (options.ttl < Duration{1'000} || options.ttl > Duration{600'000}) {
    return fail(ErrorCode::invalid_argument, "lock " + key + ": a ttl of " +
                                                 std::to_string(options.ttl.count()) +
                                                 " ms is not allowed; give 1 s to 10 min");
  }
  return {};
}

/// Runs count from 1: the leases of locks have names of their own.
RunId lease_of(const std::string& key) {
  return {.pipeline = key, .iteration = 0};
}

/// One try: the number of the new holding, or why there is none.
Result<std::uint64_t> take(LeaseStore& store, const LeaseRequest& request, Duration ttl) {
  const auto verdicts = store.acquire({request}, ttl);
  if (!verdicts) {
    return tl::unexpected<Error>{verdicts.error()};
  }
  if (verdicts->front() != LeaseVerdict::granted) {
    return fail(ErrorCode::lease_busy, "lock " + request.run.pipeline + " is held");
  }
  auto number = store.draw_number();
  if (!number) {
    static_cast<void>(store.release({request}));
  }
  return number;
}

}  // namespace

Lease::Lease(std::unique_ptr<Keeper> keeper) : keeper_(std::move(keeper)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;

std::uint64_t Lease::number() const {
  return keeper_->grant().number;
}
std::stop_token Lease::stop_token() const {
  return keeper_->stop_token();
}
Duration Lease::waited() const {
  return keeper_->grant().waited;
}
Duration Lease::held() const {
  return keeper_->held();
}
Result<void> Lease::release() {
  return keeper_->release();
}

Result<Lease> acquire_lease(const LockService& service, const std::string& key,
                            const LockOptions& options) {
  if (auto allowed = check(key, options); !allowed) {
    return tl::unexpected<Error>{std::move(allowed).error()};
  }
  const LeaseRequest request{lease_of(key), random_id()};
  const BootTime begun = lock_clock().boot();
  const auto bound = options.wait.bound();
  Pause pause{options.cancel};
  // Those who wait for one key ask at different moments, soon first.
  for (Duration longest{2};; longest = std::min(longest * 2, kLimits.lock_retry)) {
    const BootTime asked_at = lock_clock().boot();
    auto number =
        service.shared()->ask([&](LeaseStore& store) { return take(store, request, options.ttl); });
    const BootTime now = lock_clock().boot();
    if (number) {
      return Lease{std::make_unique<Lease::Keeper>(Lease::Keeper::Grant{.service = service.shared(),
                                                                        .request = request,
                                                                        .ttl = options.ttl,
                                                                        .asked_at = asked_at,
                                                                        .number = *number,
                                                                        .waited = now - begun})};
    }
    if (options.cancel.stop_requested() || (bound && now - begun >= *bound)) {
      return tl::unexpected<Error>{std::move(number).error()};
    }
    const Duration time{1 + static_cast<Duration::rep>(
                                random_number() % static_cast<std::uint64_t>(longest.count()))};
    pause.wait_for(bound ? std::min(time, *bound - (now - begun)) : time);
  }
}

Result<void> exclusive_periodic(const PeriodicOptions& options,
                                const std::function<void(Lease&)>& round) {
  if (options.period <= Duration{0}) {
    return fail(ErrorCode::invalid_argument,
                "lock " + options.key + ": a period is longer than 0 ms");
  }
  const LockOptions lock{.wait = LockWait::forever(), .ttl = options.ttl, .cancel = options.stop};
  while (!options.stop.stop_requested()) {
    auto lease = acquire_lease(options.service, options.key, lock);
    if (!lease && lease.error().code == ErrorCode::invalid_argument) {
      return tl::unexpected<Error>{std::move(lease).error()};
    }
    if (!lease) {
      continue;  // cancelled
    }
    Pause pause{options.stop};
    const std::stop_callback ended{lease->stop_token(), [&pause] { pause.end(); }};
    while (!options.stop.stop_requested() && !lease->stop_token().stop_requested()) {
      const BootTime due = lock_clock().boot() + options.period;
      round(*lease);
      pause.wait_for(std::max(due - lock_clock().boot(), Duration{0}));
    }
  }
  return {};
}

}  // namespace stagecall
