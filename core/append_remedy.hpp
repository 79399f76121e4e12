// What a holder does when the append of a pass has failed: a rule, pure.
#pragma once

#include "stagecall/error.hpp"

#include <cstdint>

namespace stagecall {

enum class AppendRemedy : std::uint8_t {
  retry,      ///< nothing is durable: decide again a little later
  read_back,  ///< it may be durable: ask the store before the next decision
  leave,      ///< never again by this holder: let the run go
};

/// Only an unavailable store gets better by waiting. The fence, a moved history, a missing run and
/// damage do not: whoever reads the history next sees what is so.
constexpr AppendRemedy after_failed_append(ErrorCode code) {
  if (code == ErrorCode::outcome_unknown) {
    return AppendRemedy::read_back;
  }
  return code == ErrorCode::store_unavailable ? AppendRemedy::retry : AppendRemedy::leave;
}

}  // namespace stagecall
