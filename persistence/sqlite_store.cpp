#include "persistence/sqlite_store.hpp"

#include "persistence/sqlite_db.hpp"
#include "persistence/sqlite_tables.hpp"
#include "persistence/store_file.hpp"
#include "persistence/store_writes.hpp"
#include "persistence/stored_rows.hpp"
#include "sql/store_sql.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace stagecall {
namespace {

/// SQLite's integers end here; no history does.
constexpr std::uint64_t kSeqMax = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kSavepoint = "SAVEPOINT one_write";
constexpr std::string_view kRelease = "RELEASE one_write";
constexpr std::string_view kRollBackTo = "ROLLBACK TO one_write";

/// Errors of the file concern all of a batch; refusals and broken constraints only their write.
bool is_of_whole_batch(ErrorCode code) {
  return code == ErrorCode::store_unavailable || code == ErrorCode::store_damaged;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(StoreFile file, SqliteStoreOptions options)
      : options_(std::move(options)),
        store_id_(file.store_id),
        lease_authority_(file.lease_authority),
        identity_(file.identity),
        db_(std::move(file.db)) {}

  Result<std::vector<Result<Reply>>> write(const std::vector<Write>& batch) override;
  Result<RunRow> run(const RunId& run) override;
  Result<RunRow> latest_run(const std::string& pipeline) override;
  Result<std::vector<RunRow>> runs() override;
  Result<std::vector<LiveRun>> live_runs() override;
  Result<std::vector<StoredPass>> history(const RunId& run, Seq after) override;
  Result<std::vector<RawPass>> raw_history(const RunId& run) override;
  Result<std::string> definition(const DefinitionHash& hash) override;
  Result<std::vector<InboxRow>> inbox(const RunId& run, std::size_t limit) override;
  Result<bool> knows_request(const RunId& run, const std::string& request_id) override;
  Result<std::vector<NodeOutput>> outputs(const RunId& run,
                                          const std::vector<NodeIndex>& nodes) override;
  Result<std::vector<Leftover>> leftovers(const RunId& run) override;
  Result<std::vector<RunId>> runs_with_inbox() override;
  Result<std::uint64_t> data_version() override;
  std::string store_id() const override { return store_id_; }
  std::string lease_authority() const override { return lease_authority_; }

 private:
  /// What every call begins with: the file is still that one, and the connection is in order.
  Result<void> ensure_open();
  Result<void> reopen();
  Result<std::vector<Result<Reply>>> write_all(const std::vector<Write>& batch);
  Result<std::vector<RawPass>> raw_passes(const RunId& run, Seq after);

  /// Runs a query and makes an element of each row; an element that fails ends it.
  template <class Element, class Read>
  Result<std::vector<Element>> read_rows(std::string_view sql,
                                         std::initializer_list<SqliteValue> values, Read read);

  SqliteStoreOptions options_;
  std::string store_id_;
  std::string lease_authority_;
  FileIdentity identity_;
  std::optional<SqliteDb> db_;  // none after a commit of unknown outcome, until it is reopened
  std::uint64_t reopened_ = 0;
};

// ---- The connection ----

Result<void> SqliteStore::ensure_open() {
  const auto now = identify_file(options_.path);
  if (!now || !now->is_same_file(identity_)) {
    db_.reset();
    return fail(ErrorCode::store_damaged, "store " + options_.path +
                                              " was deleted or replaced while in use; nothing is "
                                              "written to it any more");
  }
  return db_ ? Result<void>{} : reopen();
}

Result<void> SqliteStore::reopen() {
  auto options = options_;
  options.create = false;
  auto file = open_store_file(options);
  if (!file) {
    return tl::unexpected<Error>{std::move(file).error()};
  }
  // The commit in doubt may lie in the log, complete but not yet counted, and come to light when
  // the log is next recovered: long after it was read back as missing. A commit of our own takes
  // its place in the log (or follows it) and so decides.
  auto settled = file->db.run(store_sql::kSettle);
  if (!settled) {
    return settled;
  }
  db_ = std::move(file->db);
  ++reopened_;
  return {};
}

// ---- Writing ----

Result<std::vector<Result<Reply>>> SqliteStore::write(const std::vector<Write>& batch) {
  if (auto open = ensure_open(); !open) {
    return tl::unexpected<Error>{std::move(open).error()};
  }
  if (auto begun = db_->begin_immediate(); !begun) {
    return tl::unexpected<Error>{std::move(begun).error()};
  }
  Result<std::vector<Result<Reply>>> replies;
  try {
    replies = write_all(batch);
  } catch (...) {
    db_.reset();  // with the transaction: the next call opens anew
    throw;
  }
  if (!replies) {
    // Without a commit nothing of it counts, whatever became of the rollback.
    if (!db_->rollback()) {
      db_.reset();
    }
    return replies;
  }
  if (auto done = db_->commit(); !done) {
    if (done.error().code == ErrorCode::outcome_unknown) {
      db_.reset();
      // Callers read back next; a failure shows there and is tried again by each call.
      static_cast<void>(reopen());
    }
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return replies;
}

Result<std::vector<Result<Reply>>> SqliteStore::write_all(const std::vector<Write>& batch) {
  SqliteTables tables{*db_};
  std::vector<Result<Reply>> replies;
  replies.reserve(batch.size());
  for (const Write& write : batch) {
    if (auto marked = db_->run(kSavepoint); !marked) {
      return tl::unexpected<Error>{std::move(marked).error()};
    }
    auto reply = apply_write(tables, write);
    if (!reply) {
      if (is_of_whole_batch(reply.error().code)) {
        return tl::unexpected<Error>{std::move(reply).error()};
      }
      if (auto back = db_->run(kRollBackTo); !back) {
        return tl::unexpected<Error>{std::move(back).error()};
      }
    }
    if (auto released = db_->run(kRelease); !released) {
      return tl::unexpected<Error>{std::move(released).error()};
    }
    replies.push_back(std::move(reply));
  }
  return replies;
}

// ---- Reading ----

template <class Element, class Read>
Result<std::vector<Element>> SqliteStore::read_rows(std::string_view sql,
                                                    std::initializer_list<SqliteValue> values,
                                                    Read read) {
  if (auto open = ensure_open(); !open) {
    return tl::unexpected<Error>{std::move(open).error()};
  }
  std::vector<Element> elements;
  auto query = db_->query(sql, values);
  while (true) {
    const auto more = query.next();
    if (!more) {
      return tl::unexpected<Error>{more.error()};
    }
    if (!*more) {
      return elements;
    }
    if constexpr (std::is_same_v<decltype(read(query)), Element>) {
      elements.push_back(read(query));
    } else {
      Result<Element> element = read(query);
      if (!element) {
        return tl::unexpected<Error>{std::move(element).error()};
      }
      elements.push_back(std::move(*element));
    }
  }
}

Result<RunRow> SqliteStore::run(const RunId& run) {
  if (auto open = ensure_open(); !open) {
    return tl::unexpected<Error>{std::move(open).error()};
  }
  SqliteTables tables{*db_};
  return read_run(tables, run);
}

Result<RunRow> SqliteStore::latest_run(const std::string& pipeline) {
  const auto latest =
      read_rows<std::uint64_t>(store_sql::kReadLatestIteration, {pipeline},
                               [](const SqliteQuery& row) { return row.number(0); });
  if (!latest) {
    return tl::unexpected<Error>{latest.error()};
  }
  // No row at all counts as iteration 0.
  if (latest->front() == 0) {
    return fail(ErrorCode::not_found,
                "store " + options_.path + " has no run of pipeline " + pipeline);
  }
  return run({pipeline, latest->front()});
}

Result<std::vector<RunRow>> SqliteStore::runs() {
  return read_rows<RunRow>(store_sql::kReadRuns, {}, run_row_of);
}

Result<std::vector<LiveRun>> SqliteStore::live_runs() {
  return read_rows<LiveRun>(store_sql::kReadLiveRuns, {}, [](const SqliteQuery& row) {
    return LiveRun{.run = {row.bytes(0), row.number(1)},
                   .definition = row.bytes(2),
                   .term = Term{row.number(3)},
                   .owner = row.bytes(4),
                   .created_at = row.time(5),
                   .due_at = row.optional_time(6)};
  });
}

Result<std::vector<RawPass>> SqliteStore::raw_passes(const RunId& run, Seq after) {
  return read_rows<RawPass>(
      store_sql::kReadHistory,
      {run.pipeline, sqlite_value(run.iteration), sqlite_value(std::min(after.value, kSeqMax))},
      [](const SqliteQuery& row) {
        return RawPass{.seq = Seq{row.number(0)},
                       .term = Term{row.number(1)},
                       .at = row.time(2),
                       .checksum = row.number(3),
                       .events = row.bytes(4)};
      });
}

Result<std::vector<RawPass>> SqliteStore::raw_history(const RunId& run) {
  return raw_passes(run, Seq{0});
}

Result<std::vector<StoredPass>> SqliteStore::history(const RunId& run, Seq after) {
  const auto raw = raw_passes(run, after);
  if (!raw) {
    return tl::unexpected<Error>{raw.error()};
  }
  return decode_passes(*raw, run, "store " + options_.path);
}

Result<std::string> SqliteStore::definition(const DefinitionHash& hash) {
  auto found = read_rows<std::string>(store_sql::kReadDefinition, {hash},
                                      [](const SqliteQuery& row) { return row.bytes(0); });
  if (!found) {
    return tl::unexpected<Error>{std::move(found).error()};
  }
  if (found->empty()) {
    return fail(ErrorCode::not_found, "store " + options_.path + " has no definition " + hash);
  }
  return std::move(found->front());
}

Result<std::vector<InboxRow>> SqliteStore::inbox(const RunId& run, std::size_t limit) {
  return read_rows<InboxRow>(
      store_sql::kReadInbox,
      {run.pipeline, sqlite_value(run.iteration), sqlite_value(std::uint64_t{limit})},
      [&](const SqliteQuery& row) {
        return decode_inbox_row(row.integer(0), row.bytes(1), run, "store " + options_.path);
      });
}

Result<bool> SqliteStore::knows_request(const RunId& run, const std::string& request_id) {
  const auto counts = read_rows<std::uint64_t>(
      store_sql::kReadInboxRequest, {run.pipeline, sqlite_value(run.iteration), request_id},
      [](const SqliteQuery& row) { return row.number(0); });
  if (!counts) {
    return tl::unexpected<Error>{counts.error()};
  }
  return counts->front() > 0;
}

Result<std::vector<NodeOutput>> SqliteStore::outputs(const RunId& run,
                                                     const std::vector<NodeIndex>& nodes) {
  std::vector<NodeOutput> outputs;
  for (const NodeIndex node : nodes) {
    auto latest = read_rows<NodeOutput>(
        store_sql::kReadLatestOutput,
        {run.pipeline, sqlite_value(run.iteration), std::int64_t{node.value}},
        [node](const SqliteQuery& row) {
          return NodeOutput{node, Attempt{static_cast<std::uint32_t>(row.integer(0))},
                            row.bytes(1)};
        });
    if (!latest) {
      return latest;
    }
    std::move(latest->begin(), latest->end(), std::back_inserter(outputs));
  }
  return outputs;
}

Result<std::vector<Leftover>> SqliteStore::leftovers(const RunId& run) {
  return read_rows<Leftover>(
      store_sql::kReadLeftovers, {run.pipeline, sqlite_value(run.iteration)},
      [](const SqliteQuery& row) {
        return Leftover{{NodeIndex{static_cast<std::uint32_t>(row.integer(0))},
                         Attempt{static_cast<std::uint32_t>(row.integer(1))}, Nonce{row.number(2)}},
                        row.bytes(3),
                        row.time(4)};
      });
}

Result<std::vector<RunId>> SqliteStore::runs_with_inbox() {
  return read_rows<RunId>(store_sql::kReadRunsWithInbox, {}, [](const SqliteQuery& row) {
    return RunId{row.bytes(0), row.number(1)};
  });
}

Result<std::uint64_t> SqliteStore::data_version() {
  const auto version = read_rows<std::uint64_t>(
      "PRAGMA data_version", {}, [](const SqliteQuery& row) { return row.number(0); });
  if (!version) {
    return tl::unexpected<Error>{version.error()};
  }
  // Each connection counts from its own start.
  return (reopened_ << 32) + version->front();
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteStoreOptions& options) {
  auto file = open_store_file(options);
  if (!file) {
    return tl::unexpected<Error>{std::move(file).error()};
  }
  return std::make_unique<SqliteStore>(std::move(*file), options);
}

}  // namespace stagecall
