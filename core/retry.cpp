#include "core/retry.hpp"

#include <algorithm>
#include <cmath>

namespace stagecall {

Duration retry_delay(const RetryPolicy& policy, std::uint32_t failures, std::uint64_t random) {
  const double limit = static_cast<double>(policy.delay_max.count());
  const double base = static_cast<double>(policy.delay.count()) *
                      std::pow(policy.factor, static_cast<double>(failures) - 1);
  const double uniform = static_cast<double>(random >> 11) * 0x1p-53;  // [0, 1)
  const double varied = std::min(base, limit) * (1 + policy.jitter * (2 * uniform - 1));
  return Duration{std::max<std::int64_t>(1, std::llround(std::min(varied, limit)))};
}

Verdict after_attempt(const RetryPolicy& policy, AttemptBudget used, OutcomeKind outcome,
                      bool run_goes_on, std::uint64_t random) {
  if (!run_goes_on) {
    return {};
  }
  switch (outcome) {
    case OutcomeKind::succeeded:
    case OutcomeKind::rejected:
    case OutcomeKind::stopped: return {};
    case OutcomeKind::failed:
    case OutcomeKind::timed_out:
      if (used.counted + 1 < policy.attempts_max) {
        return {Next::backoff, retry_delay(policy, used.counted + 1, random)};
      }
      return {};
    case OutcomeKind::lost: return {used.lost < policy.lost_max ? Next::again : Next::finish, {}};
    case OutcomeKind::not_launched:
    case OutcomeKind::interrupted: return {Next::again, {}};
  }
  return {};
}

}  // namespace stagecall
