// The store's tables in SQLite, one statement a call.
#pragma once

#include "persistence/sqlite_db.hpp"
#include "persistence/store_tables.hpp"

namespace stagecall {

/// Cheap to make; the connection must outlive it.
class SqliteTables final : public StoreTables {
 public:
  explicit SqliteTables(SqliteDb& db) : db_(db) {}

  std::string name() const override;
  Result<std::optional<RunRow>> find_run(const RunId& run) override;
  Result<std::optional<RunHead>> find_head(const RunId& run) override;
  Result<LiveCount> count_live(const std::string& pipeline) override;
  Result<std::optional<RunId>> find_start_request(const std::string& request_id) override;
  Result<bool> knows_inbox_request(RunKey run, const std::string& request_id) override;
  Result<std::vector<EndedRun>> find_ended(WallTime before, std::size_t limit) override;
  Result<std::uint64_t> count_events(RunKey run) override;
  Result<std::uint64_t> take_iteration(const std::string& pipeline) override;
  Result<void> put_definition(const DefinitionHash& hash, const std::string& text) override;
  Result<RunKey> insert_run(const RunRow& row) override;
  Result<void> put_start_request(const std::string& request_id, RunKey run) override;
  Result<void> insert_pass(RunKey run, const RawPass& pass) override;
  Result<void> set_head(const RunHead& head, const RunSummary& summary) override;
  Result<void> set_holder(RunKey run, Term term, const std::string& owner) override;
  Result<void> set_parked(RunKey run, const std::string& reason) override;
  Result<void> put_output(RunKey run, const NodeOutput& output) override;
  Result<void> copy_output(RunKey from, RunKey into, NodeIndex node) override;
  Result<void> put_leftover(RunKey run, const Leftover& leftover) override;
  Result<void> delete_leftover(RunKey run, Nonce nonce) override;
  Result<bool> insert_inbox(RunKey run, const InboxEntry& entry) override;
  Result<void> put_inbox_request(RunKey run, const std::string& request_id) override;
  Result<void> delete_inbox(RunKey run, std::int64_t id) override;
  Result<void> delete_whole_inbox(RunKey run) override;
  Result<void> delete_run(RunKey run) override;
  Result<void> delete_unused_definition(const DefinitionHash& hash) override;

 private:
  SqliteDb& db_;
};

/// The row that a query with the columns of kReadRun stands on.
RunRow run_row_of(const SqliteQuery& query);

}  // namespace stagecall
