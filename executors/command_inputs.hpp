// The inputs of a command: what its node's dependencies left, as a file that it can read.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/run.hpp"

#include <optional>
#include <string>

namespace stagecall {

/// Writes one JSON object {node: output} for the attempt, `{}` if none left any; nothing for a node
/// that waits for no other. Returns how the attempt ends where that cannot be done: failed, with
/// the reason, for too large inputs as for a store or a disk that does not give or take them.
std::optional<Outcome> provide_inputs(const Launch& launch, const std::string& attempt_folder);

}  // namespace stagecall
