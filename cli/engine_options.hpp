// From the command line's options to those of an engine.
#pragma once

#include "cli/options.hpp"
#include "stagecall/engine.hpp"

namespace stagecall::cli {

/// `adopts`: whether the engine takes over what nobody schedules. The trace's file is opened here,
/// before anything is stored: invalid_argument if it cannot be written.
Result<EngineOptions> engine_options(const Options& options, bool adopts);

}  // namespace stagecall::cli
