// Proves runs from what the store holds: checksums, the rules of history, the fold against the
// run's row. Reads only; damage to one run does not keep the others from being checked.
#pragma once

#include "core/history_check.hpp"
#include "persistence/store.hpp"
#include "stagecall/error.hpp"

#include <cstdint>
#include <vector>

namespace stagecall::cli {

struct RunViolation {
  RunId run;
  Violation violation;
  friend bool operator==(const RunViolation&, const RunViolation&) = default;
};

struct Verification {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
  std::uint64_t leftovers = 0;  ///< attempts that ended unconfirmed and still are
  std::vector<RunViolation> violations{};
};

/// Rules beside those of HistoryCheck: `unreadable`, `checksum`, `decode`, `definition`, `row`,
/// `invariant`, `leftover`. A run that goes on meanwhile is checked as of one moment.
void verify_run(Store& store, const RunId& run, Verification& verification);

/// Every run of the store. Fails only if the runs cannot be listed.
Result<Verification> verify_store(Store& store);

}  // namespace stagecall::cli
