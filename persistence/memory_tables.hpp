// The store's tables in memory, and how changes to them are taken back.
#pragma once

#include "persistence/store_tables.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecall {

struct MemoryRun {
  RunRow row;
  std::vector<RawPass> passes{};
  std::map<std::pair<NodeIndex, Attempt>, std::string> outputs{};
  std::map<std::pair<NodeIndex, Attempt>, Leftover> leftovers{};
  std::map<std::int64_t, InboxEntry> inbox{};
  std::set<std::string> inbox_subjects{};  // of what waits
  std::set<std::string> inbox_requests{};
};

struct MemoryStoreContent {
  std::mutex mutex{};  // of all that follows it
  std::string store_id{};
  std::string lease_authority{};
  std::map<RunKey, MemoryRun> runs{};
  std::map<RunId, RunKey> keys{};
  std::set<RunId> live{};
  std::map<DefinitionHash, std::string> definitions{};
  std::map<std::string, std::uint64_t> iterations{};  // taken so far, by pipeline
  std::map<std::string, RunKey> start_requests{};
  std::int64_t last_key = 0;
  std::int64_t last_inbox_id = 0;
  std::uint64_t commits = 0;
};

/// The latest kept output of a node, if it left one.
std::optional<NodeOutput> latest_output(const MemoryRun& run, NodeIndex node);

/// One transaction; the caller holds the content's mutex. Of each change its reverse is noted
/// before it is made, so that an exception half-way leaves nothing that cannot be taken back.
class MemoryTables final : public StoreTables {
 public:
  explicit MemoryTables(MemoryStoreContent& content) : content_(content) {}

  /// What was changed so far, as a savepoint.
  std::size_t changes() const { return reverses_.size(); }
  void roll_back_to(std::size_t savepoint);

  std::string name() const override { return "the store in memory"; }
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
  MemoryRun& at(RunKey run) { return content_.runs.at(run); }
  /// None = there is no such run.
  MemoryRun* find(const RunId& run);
  /// Notes that what stands at `key` now, or that nothing does, is to stand there again.
  template <class Map>
  void keep(Map& map, const typename Map::key_type& key);
  void keep_value(auto& value);
  void set_live(const RunRow& row);

  MemoryStoreContent& content_;
  std::vector<std::function<void()>> reverses_;
};

}  // namespace stagecall
