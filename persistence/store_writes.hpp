// What each write of a batch does to the tables, and how rows of runs are read. Runs inside the
// caller's transaction; a write that fails may leave half of itself behind for the caller's
// savepoint to take back.
#pragma once

#include "persistence/sqlite_db.hpp"
#include "persistence/store.hpp"
#include "stagecall/error.hpp"

namespace stagecall {

Result<Reply> apply_write(SqliteDb& db, const StartRun& write);
Result<Reply> apply_write(SqliteDb& db, const OpenTerm& write);
Result<Reply> apply_write(SqliteDb& db, const AppendPass& write);
Result<Reply> apply_write(SqliteDb& db, const PutInbox& write);

/// not_found if there is none.
Result<RunRow> read_run(SqliteDb& db, const RunId& run);

/// The row that a query with the columns of kReadRun stands on.
RunRow run_row_of(const SqliteQuery& query);

}  // namespace stagecall
