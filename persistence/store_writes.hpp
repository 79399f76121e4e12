// The rules of writes: what each write of a batch does to the tables of any store. Runs inside the
// caller's transaction; a write that fails may leave half of itself behind for the caller's
// savepoint to take back.
#pragma once

#include "persistence/store.hpp"
#include "persistence/store_tables.hpp"
#include "stagecall/error.hpp"

namespace stagecall {

Result<Reply> apply_write(StoreTables& tables, const Write& write);

/// not_found if there is none.
Result<RunRow> read_run(StoreTables& tables, const RunId& run);

}  // namespace stagecall
