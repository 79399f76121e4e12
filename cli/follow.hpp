// Goes along with a run until it has ended.
#pragma once

#include "cli/run_watch.hpp"

#include <functional>

namespace stagecall::cli {

/// Calls `tell` at once, again and again, and last when the run has ended, somebody interrupts, or
/// stdout takes no more: that is no error here. After each call stdout is flushed.
Result<void> follow(const Session& session, Store& store, const RunRow& row,
                    const std::function<Result<void>(const RunRow&)>& tell);

}  // namespace stagecall::cli
