// Runs in words, for people.
#pragma once

#include "actors/run_reader.hpp"
#include "cli/output.hpp"

#include <string>
#include <vector>

namespace stagecall::cli {

Colour colour_of(RunState state);

/// `3 of 7 nodes, 1 running, 1 failed`.
std::string progress_text(const NodeCounts& nodes);

/// A run in several lines, as the answer.
void write_run(Output& output, const RunReport& report);

/// A table of runs, as the answer.
void write_runs(Output& output, const std::vector<RunReport>& reports);

/// How a run ended, beside the answer: one line, and its failed nodes.
void note_end(Output& output, const RunReport& report);

}  // namespace stagecall::cli
