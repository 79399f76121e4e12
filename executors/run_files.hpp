// The files of a whole run, once nothing else of it is kept.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"

#include <string>

namespace stagecall {

/// Removes the folders of all attempts of a run, with logs and outputs. The run must have ended and
/// be forgotten. None there: nothing to do. executor_unavailable names what is left.
Result<void> remove_run_files(const std::string& folder, const RunId& run);

}  // namespace stagecall
