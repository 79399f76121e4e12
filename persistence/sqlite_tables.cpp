#include "persistence/sqlite_tables.hpp"

#include "persistence/codec.hpp"
#include "sql/store_sql.hpp"

#include <utility>

namespace stagecall {
namespace {

/// Runs the statement to its end, also because one that returns rows has written only then.
template <class Take>
Result<void> for_each_row(SqliteDb& db, std::string_view sql,
                          std::initializer_list<SqliteValue> values, Take take) {
  auto query = db.query(sql, values);
  while (true) {
    const auto found = query.next();
    if (!found) {
      return tl::unexpected<Error>{found.error()};
    }
    if (!*found) {
      return {};
    }
    take(query);
  }
}

/// The one row that the statement gives, if any.
template <class Row, class Read>
Result<std::optional<Row>> read_one(SqliteDb& db, std::string_view sql,
                                    std::initializer_list<SqliteValue> values, Read read) {
  std::optional<Row> row;
  auto done = for_each_row(db, sql, values, [&](const SqliteQuery& query) { row = read(query); });
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return row;
}

/// The same, of a statement that always gives a row.
template <class Row, class Read>
Result<Row> read_the_one(SqliteDb& db, std::string_view sql,
                         std::initializer_list<SqliteValue> values, Read read) {
  auto row = read_one<Row>(db, sql, values, read);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  return *std::move(*row);
}

RunId run_of(const SqliteQuery& query) {
  return {query.bytes(0), query.number(1)};
}

std::uint64_t number_of(const SqliteQuery& query) {
  return query.number(0);
}

}  // namespace

std::string SqliteTables::name() const {
  return "store " + db_.path();
}

Result<std::optional<RunRow>> SqliteTables::find_run(const RunId& run) {
  return read_one<RunRow>(db_, store_sql::kReadRun, {run.pipeline, sqlite_value(run.iteration)},
                          run_row_of);
}

Result<std::optional<RunHead>> SqliteTables::find_head(const RunId& run) {
  return read_one<RunHead>(db_, store_sql::kReadHead, {run.pipeline, sqlite_value(run.iteration)},
                           [](const SqliteQuery& query) {
                             return RunHead{RunKey{query.integer(0)},
                                            Term{query.number(1)},
                                            Seq{query.number(2)},
                                            query.number(3),
                                            static_cast<RunState>(query.integer(4)),
                                            query.bytes(5)};
                           });
}

Result<LiveCount> SqliteTables::count_live(const std::string& pipeline) {
  return read_the_one<LiveCount>(db_, store_sql::kCountLive, {pipeline},
                                 [](const SqliteQuery& query) {
                                   return LiveCount{query.number(0), query.number(1)};
                                 });
}

Result<std::optional<RunId>> SqliteTables::find_start_request(const std::string& request_id) {
  return read_one<RunId>(db_, store_sql::kReadStartRequest, {request_id}, run_of);
}

Result<bool> SqliteTables::knows_inbox_request(RunKey run, const std::string& request_id) {
  const auto rows = read_the_one<std::uint64_t>(db_, store_sql::kCountInboxRequest,
                                                {run.value, request_id}, number_of);
  if (!rows) {
    return tl::unexpected<Error>{rows.error()};
  }
  return *rows > 0;
}

Result<std::vector<EndedRun>> SqliteTables::find_ended(WallTime before, std::size_t limit) {
  std::vector<EndedRun> ended;
  auto done = for_each_row(
      db_, store_sql::kReadEnded, {sqlite_value(before), sqlite_value(std::uint64_t{limit})},
      [&ended](const SqliteQuery& query) {
        ended.push_back(
            {RunKey{query.integer(0)}, {query.bytes(1), query.number(2)}, query.bytes(3)});
      });
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return ended;
}

Result<std::uint64_t> SqliteTables::count_events(RunKey run) {
  std::uint64_t events = 0;
  auto done = for_each_row(
      db_, store_sql::kReadEventCounts, {run.value, std::int64_t{kEventCountBytes}},
      [&events](const SqliteQuery& query) { events += stagecall::count_events(query.bytes(0)); });
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return events;
}

Result<std::uint64_t> SqliteTables::take_iteration(const std::string& pipeline) {
  return read_the_one<std::uint64_t>(db_, store_sql::kNextIteration, {pipeline}, number_of);
}

Result<void> SqliteTables::put_definition(const DefinitionHash& hash, const std::string& text) {
  return db_.run(store_sql::kInsertDefinition, {hash, text});
}

Result<RunKey> SqliteTables::insert_run(const RunRow& row) {
  return read_the_one<RunKey>(
      db_, store_sql::kInsertRun,
      {row.run.pipeline, sqlite_value(row.run.iteration), row.definition, row.owner,
       sqlite_value(row.term.value), sqlite_value(row.created_at)},
      [](const SqliteQuery& query) { return RunKey{query.integer(0)}; });
}

Result<void> SqliteTables::put_start_request(const std::string& request_id, RunKey run) {
  return db_.run(store_sql::kInsertStartRequest, {request_id, run.value});
}

Result<void> SqliteTables::insert_pass(RunKey run, const RawPass& pass) {
  return db_.run(store_sql::kInsertPass,
                 {run.value, sqlite_value(pass.seq.value), sqlite_value(pass.term.value),
                  sqlite_value(pass.at), sqlite_value(pass.checksum), SqliteBlob{pass.events}});
}

Result<void> SqliteTables::set_head(const RunHead& head, const RunSummary& summary) {
  const auto& [state, nodes, passes, due_at, ended_at] = summary;
  return db_.run(
      store_sql::kUpdateSummary,
      {head.key.value, sqlite_value(head.last_seq.value), sqlite_value(head.last_checksum),
       std::int64_t{static_cast<std::uint8_t>(state)}, sqlite_value(due_at), sqlite_value(ended_at),
       std::int64_t{nodes[0]}, std::int64_t{nodes[1]}, std::int64_t{nodes[2]},
       std::int64_t{nodes[3]}, std::int64_t{nodes[4]}, std::int64_t{nodes[5]},
       std::int64_t{nodes[6]}, std::int64_t{nodes[7]}, std::int64_t{nodes[8]},
       std::int64_t{nodes[9]}, sqlite_value(passes.tick), sqlite_value(passes.event)});
}

Result<void> SqliteTables::set_holder(RunKey run, Term term, const std::string& owner) {
  return db_.run(store_sql::kSetHolder, {run.value, sqlite_value(term.value), owner});
}

Result<void> SqliteTables::set_parked(RunKey run, const std::string& reason) {
  return db_.run(store_sql::kSetParked, {run.value, reason});
}

Result<void> SqliteTables::put_output(RunKey run, const NodeOutput& output) {
  return db_.run(store_sql::kInsertOutput, {run.value, std::int64_t{output.node.value},
                                            std::int64_t{output.attempt.value}, output.body});
}

Result<void> SqliteTables::copy_output(RunKey from, RunKey into, NodeIndex node) {
  return db_.run(store_sql::kCopyOutput, {from.value, into.value, std::int64_t{node.value}});
}

Result<void> SqliteTables::put_leftover(RunKey run, const Leftover& leftover) {
  const auto& [mark, custodian, since] = leftover;
  return db_.run(store_sql::kInsertLeftover,
                 {run.value, std::int64_t{mark.node.value}, std::int64_t{mark.attempt.value},
                  sqlite_value(mark.nonce.value), custodian, sqlite_value(since)});
}

Result<void> SqliteTables::delete_leftover(RunKey run, Nonce nonce) {
  return db_.run(store_sql::kDeleteLeftover, {run.value, sqlite_value(nonce.value)});
}

Result<bool> SqliteTables::insert_inbox(RunKey run, const InboxEntry& entry) {
  auto done = db_.run(store_sql::kInsertInbox,
                      {run.value, sqlite_value(entry.at), SqliteBlob{entry.message},
                       entry.subject ? SqliteValue{*entry.subject} : SqliteValue{}});
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return db_.changes() > 0;
}

Result<void> SqliteTables::put_inbox_request(RunKey run, const std::string& request_id) {
  return db_.run(store_sql::kInsertInboxRequest, {run.value, request_id});
}

Result<void> SqliteTables::delete_inbox(RunKey run, std::int64_t id) {
  return db_.run(store_sql::kDeleteInbox, {id, run.value});
}

Result<void> SqliteTables::delete_whole_inbox(RunKey run) {
  return db_.run(store_sql::kDeleteInboxOfRun, {run.value});
}

Result<void> SqliteTables::delete_run(RunKey run) {
  return db_.run(store_sql::kDeleteRun, {run.value});
}

Result<void> SqliteTables::delete_unused_definition(const DefinitionHash& hash) {
  return db_.run(store_sql::kDeleteUnusedDefinition, {hash});
}

RunRow run_row_of(const SqliteQuery& query) {
  RunRow row{.run = {query.bytes(1), query.number(2)},
             .definition = query.bytes(3),
             .owner = query.bytes(4),
             .term = Term{query.number(5)},
             .last_seq = Seq{query.number(6)},
             .last_checksum = query.number(7),
             .created_at = query.time(8),
             .summary = {.state = static_cast<RunState>(query.integer(9)),
                         .due_at = query.optional_time(10),
                         .ended_at = query.optional_time(11)}};
  constexpr int first_count = 12;
  for (std::size_t state = 0; state < kNodeStateCount; ++state) {
    row.summary.nodes[state] =
        static_cast<std::uint32_t>(query.integer(first_count + static_cast<int>(state)));
  }
  row.summary.passes = {query.number(22), query.number(23)};
  row.parked = query.bytes(24);
  return row;
}

}  // namespace stagecall
