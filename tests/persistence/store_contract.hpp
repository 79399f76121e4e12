// What every store must do. One suite for all implementations of the seam.
#pragma once

#include "persistence/store.hpp"

#include <functional>
#include <memory>

namespace stagecall::testing {

/// Opens one more connection to the same store, which is empty when a check begins.
using Connect = std::function<std::unique_ptr<Store>()>;

void check_starts(const Connect& connect);
void check_start_requests(const Connect& connect);
void check_terms_and_fence(const Connect& connect);
void check_history(const Connect& connect);
void check_inbox(const Connect& connect);
/// Of a stop, and of a node's report, one may wait.
void check_inbox_subjects(const Connect& connect);
void check_outputs(const Connect& connect);
/// R18: outputs that a rerun takes along.
void check_carried_outputs(const Connect& connect);
/// T6: what goes and what stays when ended runs are removed.
void check_prune(const Connect& connect);
/// T14: attempts that ended unconfirmed, until they are confirmed.
void check_leftovers(const Connect& connect);
void check_batches(const Connect& connect);
void check_lookups(const Connect& connect);
void check_data_version(const Connect& connect);
/// R3: starts of one pipeline by many threads on two connections.
void check_parallel_starts(const Connect& connect);
/// S1: two writers and a reader at once, each on its own connection: nothing is lost.
void check_parallel_appends(const Connect& connect);
/// R4: stops of one run by many threads, each on its own connection.
void check_parallel_stops(const Connect& connect);

}  // namespace stagecall::testing
