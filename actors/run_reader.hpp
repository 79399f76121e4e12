// Reads runs from the store: which run a text means, its fold, its status. Asks only, knows no
// actor; a store belongs to one thread at a time, so each call blocks the caller's.
#pragma once

#include "core/pipeline_state.hpp"
#include "persistence/store.hpp"
#include "stagecall/error.hpp"
#include "stagecall/run.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stagecall {

/// Splits at the last `/` if digits follow and such a run exists; else the whole text is a pipeline
/// and means its latest run. not_found names the text.
Result<RunRow> find_run(Store& store, const std::string& text);

/// Whether the run is of this very definition.
bool is_run_of(const RunRow& row, const Definition& definition);

Result<std::shared_ptr<const Definition>> read_definition(Store& store, const RunRow& row);

/// The fold of the history up to the row's last pass; store_damaged says why there is none.
Result<PipelineState> fold_run(Store& store, const RunRow& row);

/// An attempt that ended unconfirmed, for people.
struct LeftoverAttempt {
  std::string node;  ///< its id
  Attempt attempt;
  std::string custodian;  ///< name of the replica that launched it
  WallTime since;         ///< when it was ended
  friend bool operator==(const LeftoverAttempt&, const LeftoverAttempt&) = default;
};

struct RunReport {
  RunStatus status;
  std::vector<LeftoverAttempt> leftovers{};  ///< in document order; not in a list of many runs
  std::string quarantined{};  ///< why its history cannot be folded; empty = it can, or need not be
};

/// How much of a run is told; the history is folded only for what its row does not say.
enum class ReportDepth : std::uint8_t {
  failures,  ///< its failed nodes: enough for a list of many runs
  nodes,     ///< the running ones too
};

RunReport report_run(Store& store, const RunRow& row, WallTime now,
                     ReportDepth depth = ReportDepth::nodes);

/// Tells `take` each event after the pass `seen`, which moves on with them.
Result<void> read_on(Store& store, const RunId& run, Seq& seen,
                     const std::function<void(const Pass&, const Event&)>& take);

}  // namespace stagecall
