// What follows the end of an attempt: another one, when, or the end of its node.
#pragma once

#include "messages/events.hpp"
#include "stagecall/pipeline.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <optional>

namespace stagecall {

/// What a node has used up before the attempt that ends now.
struct AttemptBudget {
  std::uint32_t counted = 0;  ///< outcomes failed and timed_out
  std::uint32_t lost = 0;
};

/// The wait after the `failures`-th counted outcome (from 1): delay × factor^(failures − 1), varied
/// by jitter, at most delay_max, at least 1 ms. `random` is uniform over all its values.
Duration retry_delay(const RetryPolicy& policy, std::uint32_t failures, std::uint64_t random);

struct Verdict {
  Next next = Next::finish;
  std::optional<Duration> wait{};  ///< exactly with Next::backoff
};

/// `run_goes_on`: false while the run stops, when no node gets another attempt.
Verdict after_attempt(const RetryPolicy& policy, AttemptBudget used, OutcomeKind outcome,
                      bool run_goes_on, std::uint64_t random);

}  // namespace stagecall
