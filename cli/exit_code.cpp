#include "cli/exit_code.hpp"

namespace stagecall::cli {

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_pipeline:
    case ErrorCode::not_found:
    case ErrorCode::different_pipeline:
    case ErrorCode::not_external:
    case ErrorCode::not_waiting:
    case ErrorCode::old_attempt:
    case ErrorCode::lease_authority: return ExitCode::usage;
    case ErrorCode::store_unavailable:
    case ErrorCode::store_damaged:
    case ErrorCode::store_newer:
    case ErrorCode::outcome_unknown:
    case ErrorCode::fenced:
    case ErrorCode::history_moved:
    case ErrorCode::lease_busy:
    case ErrorCode::lease_lost:
    case ErrorCode::lease_unavailable:
    case ErrorCode::executor_unavailable:
    case ErrorCode::limit_reached:
    case ErrorCode::unsupported:
    case ErrorCode::internal: return ExitCode::unavailable;
  }
  return ExitCode::unavailable;
}

ExitCode exit_code_of(RunState result) {
  switch (result) {
    case RunState::succeeded: return ExitCode::done;
    case RunState::failed: return ExitCode::failed;
    case RunState::stopped: return ExitCode::stopped;
    case RunState::queued:
    case RunState::running:
    case RunState::stopping: return ExitCode::interrupted;
  }
  return ExitCode::interrupted;
}

}  // namespace stagecall::cli
