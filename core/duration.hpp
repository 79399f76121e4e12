// Durations as people and files write them: `1h30m`, `250ms`.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <string>
#include <string_view>

namespace stagecall {

/// `1h30m`, `250ms`, `0ms`: whole parts with falling units, the largest first; reads back as this
/// duration, which is not negative.
std::string write_duration(Duration duration);

/// A whole number and ms, s, m or h, or whole parts with falling units; 0 … ten years (of 365
/// days). Errors: invalid_argument.
Result<Duration> read_duration(std::string_view text);

}  // namespace stagecall
