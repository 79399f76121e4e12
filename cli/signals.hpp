// INT and TERM of a process that waits: the first is noted, the second ends it at once.
#pragma once

#include "stagecall/time.hpp"

namespace stagecall::cli {

/// From now on INT and TERM count. Once per process, before its threads.
void watch_signals();

/// One of them has come.
bool is_interrupted();

/// Returns early when one comes.
void wait_for_signal(Duration wait);

}  // namespace stagecall::cli
