// What lives in an engine, as the JSON that `stagecall inspect` shows.
#pragma once

#include "stagecall/trace.hpp"

#include <string>

namespace stagecall {

/// {"replica","pid","runs","trace","actors":[{"kind",…}]}.
std::string insight_text(const EngineInsight& engine);

}  // namespace stagecall
