// What a cancelled attempt ends as, by the reason it was cancelled for.
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

}  // namespace stagecall
