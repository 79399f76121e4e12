// What an attempt ends as that was cancelled, by the reason, or that was never launched.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/run.hpp"

namespace stagecall {

inline Outcome cancelled_outcome(CancelReason reason) {
  switch (reason) {
    case CancelReason::stop: return {.kind = OutcomeKind::stopped, .error = "stopped"};
    case CancelReason::timeout: return {.kind = OutcomeKind::timed_out, .error = "timed out"};
    case CancelReason::lost: return {.kind = OutcomeKind::lost, .error = "lost"};
    case CancelReason::drain: return {.kind = OutcomeKind::interrupted, .error = "interrupted"};
  }
  return {.kind = OutcomeKind::stopped, .error = "stopped"};
}

/// Provably never started: its trust was over, or the executor was closing.
inline Outcome not_launched_outcome() {
  return {.kind = OutcomeKind::not_launched, .error = "not launched"};
}

}  // namespace stagecall
