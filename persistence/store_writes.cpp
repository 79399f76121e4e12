#include "persistence/store_writes.hpp"

#include "persistence/codec.hpp"
#include "sql/store_sql.hpp"

#include <optional>
#include <utility>

namespace stagecall {
namespace {

/// What a write needs to know of its run.
struct Head {
  std::int64_t id = 0;
  Term term{};
  Seq last_seq{};
  std::uint64_t last_checksum = 0;
  RunState state = RunState::queued;
  std::string owner{};
};

tl::unexpected<Error> no_such_run(const SqliteDb& db, const RunId& run) {
  return fail(ErrorCode::not_found, "store " + db.path() + " has no run " + run.text());
}

Result<Head> read_head(SqliteDb& db, const RunId& run) {
  auto query = db.query(store_sql::kReadHead, {run.pipeline, sqlite_value(run.iteration)});
  const auto found = query.next();
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  if (!*found) {
    return no_such_run(db, run);
  }
  return Head{query.integer(0),
              Term{query.number(1)},
              Seq{query.number(2)},
              query.number(3),
              static_cast<RunState>(query.integer(4)),
              query.bytes(5)};
}

Result<std::uint64_t> insert_pass(SqliteDb& db, const Head& head, const Pass& pass,
                                  const std::vector<Event>& events) {
  const std::string encoded = encode_events(events);
  const std::uint64_t checksum = checksum_of(head.last_checksum, pass, encoded);
  auto done = db.run(store_sql::kInsertPass,
                     {head.id, sqlite_value(pass.seq.value), sqlite_value(pass.term.value),
                      sqlite_value(pass.at), sqlite_value(checksum), SqliteBlob{encoded}});
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return checksum;
}

// ---- StartRun ----

/// The run that this start means without making one.
Result<std::optional<RunId>> find_started(SqliteDb& db, const StartRun& write) {
  if (!write.request_id.empty()) {
    auto known = db.query(store_sql::kReadStartRequest, {write.request_id});
    const auto found = known.next();
    if (!found) {
      return tl::unexpected<Error>{found.error()};
    }
    if (*found) {
      return RunId{known.bytes(0), known.number(1)};
    }
  }
  auto live = db.query(store_sql::kCountLive, {write.pipeline});
  const auto counted = live.next();
  if (!counted) {
    return tl::unexpected<Error>{counted.error()};
  }
  if (live.number(0) > 0 && live.number(0) >= write.concurrent_runs) {
    return RunId{write.pipeline, live.number(1)};
  }
  return std::nullopt;
}

Result<void> remember_start_request(SqliteDb& db, const StartRun& write, const RunId& run) {
  if (write.request_id.empty()) {
    return {};
  }
  return db.run(store_sql::kInsertStartRequest,
                {write.request_id, run.pipeline, sqlite_value(run.iteration)});
}

Result<RunId> next_iteration(SqliteDb& db, const std::string& pipeline) {
  auto query = db.query(store_sql::kNextIteration, {pipeline});
  const auto counted = query.next();
  if (!counted) {
    return tl::unexpected<Error>{counted.error()};
  }
  const RunId run{pipeline, query.number(0)};
  // A statement that returns rows has written only once it has been run to its end.
  const auto ended = query.next();
  if (!ended) {
    return tl::unexpected<Error>{ended.error()};
  }
  return run;
}

/// Its history and summary follow.
Result<Head> insert_run(SqliteDb& db, const RunRow& row) {
  auto query = db.query(store_sql::kInsertRun,
                        {row.run.pipeline, sqlite_value(row.run.iteration), row.definition,
                         row.owner, sqlite_value(row.term.value), sqlite_value(row.created_at)});
  const auto inserted = query.next();
  if (!inserted) {
    return tl::unexpected<Error>{inserted.error()};
  }
  Head head{.id = query.integer(0), .term = row.term};
  const auto ended = query.next();
  if (!ended) {
    return tl::unexpected<Error>{ended.error()};
  }
  return head;
}

Result<void> update_summary(SqliteDb& db, const Head& head, const RunSummary& summary) {
  const auto& [state, nodes, passes, due_at, ended_at] = summary;
  return db.run(
      store_sql::kUpdateSummary,
      {head.id, sqlite_value(head.last_seq.value), sqlite_value(head.last_checksum),
       std::int64_t{static_cast<std::uint8_t>(state)}, sqlite_value(due_at), sqlite_value(ended_at),
       std::int64_t{nodes[0]}, std::int64_t{nodes[1]}, std::int64_t{nodes[2]},
       std::int64_t{nodes[3]}, std::int64_t{nodes[4]}, std::int64_t{nodes[5]},
       std::int64_t{nodes[6]}, std::int64_t{nodes[7]}, std::int64_t{nodes[8]},
       std::int64_t{nodes[9]}, sqlite_value(passes.tick), sqlite_value(passes.event)});
}

/// Appends the events, if any, behind the head and moves it; writes the summary.
Result<void> append(SqliteDb& db, Head& head, WallTime at, const std::vector<Event>& events,
                    const RunSummary& summary) {
  if (!events.empty()) {
    const Seq next{head.last_seq.value + 1};
    const auto checksum = insert_pass(db, head, Pass{next, head.term, at, {}}, events);
    if (!checksum) {
      return tl::unexpected<Error>{checksum.error()};
    }
    head.last_seq = next;
    head.last_checksum = *checksum;
  }
  return update_summary(db, head, summary);
}

Result<Reply> join_started(SqliteDb& db, const StartRun& write, const RunId& run,
                           const DefinitionHash& definition) {
  auto row = read_run(db, run);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  // Bound to another definition the id would refuse this start for ever.
  if (row->definition == definition) {
    if (auto done = remember_start_request(db, write, run); !done) {
      return tl::unexpected<Error>{std::move(done).error()};
    }
  }
  return RunStartedReply{std::move(*row), false};
}

// ---- AppendPass ----

Result<void> check_fence(const AppendPass& write, const Head& head) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, "cannot append to run " + write.run.text() + " with term " +
                          std::to_string(write.term.value) + ": " + why);
  };
  if (write.term < head.term || head.term == Term{}) {
    return refuse(ErrorCode::fenced, "its term is " + std::to_string(head.term.value));
  }
  if (write.term > head.term) {
    return refuse(ErrorCode::internal,
                  "its term is " + std::to_string(head.term.value) + ", that one never began");
  }
  if (write.previous != head.last_seq) {
    return refuse(ErrorCode::history_moved, "its history ends at " +
                                                std::to_string(head.last_seq.value) + ", not at " +
                                                std::to_string(write.previous.value));
  }
  return {};
}

Result<void> keep_outputs(SqliteDb& db, const AppendPass& write, const Head& head) {
  for (const NodeOutput& output : write.outputs) {
    auto done = db.run(store_sql::kInsertOutput, {head.id, sqlite_value(output.node.value),
                                                  sqlite_value(output.attempt.value), output.body});
    if (!done) {
      return done;
    }
  }
  return {};
}

Result<void> consume_inbox(SqliteDb& db, const AppendPass& write, const Head& head) {
  if (is_terminal(write.summary.state)) {
    return db.run(store_sql::kDeleteInboxOfRun, {head.id});
  }
  for (const std::int64_t id : write.consumed) {
    if (auto done = db.run(store_sql::kDeleteInbox, {id, head.id}); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace

Result<Reply> apply_write(SqliteDb& db, const StartRun& write) {
  const DefinitionHash definition = content_hash(write.definition);
  const auto started = find_started(db, write);
  if (!started) {
    return tl::unexpected<Error>{started.error()};
  }
  if (*started) {
    return join_started(db, write, **started, definition);
  }
  const auto run = next_iteration(db, write.pipeline);
  if (!run) {
    return tl::unexpected<Error>{run.error()};
  }
  RunRow row{.run = *run,
             .definition = definition,
             .owner = write.holder ? write.holder->incarnation : std::string{},
             .term = Term{write.holder ? 1U : 0U},
             .last_seq = Seq{},
             .created_at = write.at,
             .summary = write.summary};
  auto done = db.run(store_sql::kInsertDefinition, {definition, write.definition});
  auto head = done ? insert_run(db, row) : tl::unexpected<Error>{done.error()};
  if (!head) {
    return tl::unexpected<Error>{std::move(head).error()};
  }
  done = append(db, *head, write.at, write.events, write.summary);
  if (done) {
    done = remember_start_request(db, write, *run);
  }
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  row.last_seq = head->last_seq;
  row.last_checksum = head->last_checksum;
  return RunStartedReply{std::move(row), true};
}

Result<Reply> apply_write(SqliteDb& db, const OpenTerm& write) {
  const auto head = read_head(db, write.run);
  if (!head) {
    return tl::unexpected<Error>{head.error()};
  }
  if (head->term != write.expected) {
    return fail(ErrorCode::history_moved, "cannot open a term of run " + write.run.text() +
                                              ": expected term " +
                                              std::to_string(write.expected.value) + ", it is " +
                                              std::to_string(head->term.value));
  }
  auto done = db.run(store_sql::kOpenTerm,
                     {head->id, write.holder.incarnation, sqlite_value(write.expected.value)});
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return TermReply{Term{write.expected.value + 1}};
}

Result<Reply> apply_write(SqliteDb& db, const AppendPass& write) {
  auto head = read_head(db, write.run);
  if (!head) {
    return tl::unexpected<Error>{std::move(head).error()};
  }
  auto done = check_fence(write, *head);
  if (done) {
    done = append(db, *head, write.at, write.events, write.summary);
  }
  if (done) {
    done = keep_outputs(db, write, *head);
  }
  if (done) {
    done = consume_inbox(db, write, *head);
  }
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return AppendReply{head->last_seq};
}

Result<Reply> apply_write(SqliteDb& db, const PutInbox& write) {
  const auto head = read_head(db, write.run);
  if (!head) {
    return tl::unexpected<Error>{head.error()};
  }
  if (is_terminal(head->state)) {
    return InboxReply{head->state, false, head->owner};
  }
  if (!write.request_id.empty()) {
    auto noted = db.run(store_sql::kInsertInboxRequest, {head->id, write.request_id});
    if (!noted) {
      return tl::unexpected<Error>{std::move(noted).error()};
    }
    if (db.changes() == 0) {
      return InboxReply{head->state, false, head->owner};
    }
  }
  const std::string message = encode_message(write.message);
  auto done =
      db.run(store_sql::kInsertInbox, {head->id, sqlite_value(write.at), SqliteBlob{message}});
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return InboxReply{head->state, true, head->owner};
}

Result<RunRow> read_run(SqliteDb& db, const RunId& run) {
  auto query = db.query(store_sql::kReadRun, {run.pipeline, sqlite_value(run.iteration)});
  const auto found = query.next();
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  if (!*found) {
    return no_such_run(db, run);
  }
  return run_row_of(query);
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
  return row;
}

}  // namespace stagecall
