// What the command line ends with: a contract that scripts build on.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/run.hpp"

#include <cstdint>

namespace stagecall::cli {

enum class ExitCode : std::uint8_t {
  done = 0,         ///< done or answered; of run and wait: the run succeeded
  failed = 1,       ///< the run failed; verify found a violation
  usage = 2,        ///< usage or invalid input, also an unknown run
  stopped = 3,      ///< the run was stopped
  unavailable = 4,  ///< store, lease or executor
  interrupted = 5,  ///< the run lives on
};

ExitCode exit_code_of(ErrorCode code);
/// Of run and wait; the state is terminal.
ExitCode exit_code_of(RunState result);

}  // namespace stagecall::cli
