// Reading runs for people: which run a text means, its fold, its status. Asks only.
#pragma once

#include "core/pipeline_state.hpp"
#include "persistence/store.hpp"
#include "stagecall/error.hpp"
#include "stagecall/run.hpp"

#include <memory>
#include <string>

namespace stagecall::cli {

/// Splits at the last `/` if digits follow and such a run exists; else the whole text is a pipeline
/// and means its latest run. not_found names the text.
Result<RunRow> find_run(Store& store, const std::string& text);

/// Whether the run is of this very definition.
bool is_run_of(const RunRow& row, const Definition& definition);

Result<std::shared_ptr<const Definition>> read_definition(Store& store, const RunRow& row);

/// The fold of the history up to the row's last pass; store_damaged says why there is none.
Result<PipelineState> fold_run(Store& store, const RunRow& row);

struct RunReport {
  RunStatus status;
  std::string quarantined{};  ///< why its history cannot be folded; empty = it can, or need not be
};

/// What the row says, and of a run with failures the fold too.
RunReport report_run(Store& store, const RunRow& row, WallTime now);

}  // namespace stagecall::cli
