// One call of the command line, from its arguments to its exit code.
#pragma once

#include "cli/exit_code.hpp"

namespace stagecall::cli {

ExitCode dispatch(int argc, const char* const* argv);

}  // namespace stagecall::cli
