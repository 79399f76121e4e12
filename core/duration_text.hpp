// Durations as people and files write them: `1h30m`, `250ms`.
#pragma once

#include "stagecall/time.hpp"

#include <string>

namespace stagecall {

/// Whole parts with falling units; reads back as this duration. `0ms` for nothing.
std::string duration_text(Duration duration);

}  // namespace stagecall
