// What the states of its nodes make of a run.
#pragma once

#include "core/node_record.hpp"
#include "stagecall/run.hpp"

#include <optional>

namespace stagecall {

/// The result of a run with these nodes; none = not every node is terminal.
std::optional<RunState> run_result(const NodeCounts& counts, StopCause stop_cause);

}  // namespace stagecall
