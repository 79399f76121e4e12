// The built-in tasks of the command line: `noop` ends at once, `sleep` after its params' `seconds`
// (a number ≥ 0), by one timer thread for all. They take a slot, no thread of their own.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/time.hpp"

#include <memory>

namespace stagecall {

/// The clock serves the launch guard and must outlive the executor.
std::unique_ptr<Executor> make_builtin_tasks(const Clock& clock);

}  // namespace stagecall
