// The engine's own logger: a host's standard output and its default logger are not ours to write
// to.
#pragma once

#include <spdlog/spdlog.h>

namespace stagecall {

/// The logger that the process has registered with spdlog as `stagecall`; if it has none, one is
/// made that writes warnings and errors to stderr. Any thread.
spdlog::logger& log();

}  // namespace stagecall
