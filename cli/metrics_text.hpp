// What an engine has done and how it stands, in the text format that Prometheus reads.
#pragma once

#include "stagecall/trace.hpp"

#include <string>

namespace stagecall::cli {

/// Families `stagecall_ACTOR_COUNTER[_total]`, messages and mailboxes by actor; of no single run.
std::string metrics_text(const EngineInsight& engine);

}  // namespace stagecall::cli
