// The commands, one function each. None holds a rule of a run's life: those are the core's.
#pragma once

#include "cli/session.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"

#include <string>

namespace stagecall::cli {

// Commands that start or await runs.
Result<ExitCode> run(const Session& session);
Result<ExitCode> wait(const Session& session);

/// Until a signal comes; then it drains.
Result<ExitCode> serve(const Session& session);

/// A whole number from 1 on, of --attempt.
Result<Attempt> attempt_of(const std::string& text);

// Requests: durable when they return.
Result<ExitCode> start(const Session& session);
Result<ExitCode> stop(const Session& session);
Result<ExitCode> node_done(const Session& session);

// Questions.
Result<ExitCode> status(const Session& session);
Result<ExitCode> history(const Session& session);
Result<ExitCode> logs(const Session& session);
Result<ExitCode> explain(const Session& session);
Result<ExitCode> inspect(const Session& session);

/// Switches the trace of a live process.
Result<ExitCode> trace(const Session& session);

// What removes.
Result<ExitCode> prune(const Session& session);

// Checks.
Result<ExitCode> validate(const Session& session);
Result<ExitCode> verify(const Session& session);

}  // namespace stagecall::cli
