#include "persistence/memory_store.hpp"

#include "persistence/memory_tables.hpp"
#include "persistence/store_writes.hpp"
#include "persistence/stored_rows.hpp"
#include "platform/random.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace stagecall {
namespace {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryStoreContent> content)
      : content_(std::move(content)) {}

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
  std::string store_id() const override { return content_->store_id; }
  std::string lease_authority() const override { return content_->lease_authority; }

 private:
  std::lock_guard<std::mutex> lock() { return std::lock_guard{content_->mutex}; }
  /// Under the lock. None = there is no such run.
  const MemoryRun* find(const RunId& run) const;
  std::vector<RawPass> raw_passes(const RunId& run, Seq after);

  std::shared_ptr<MemoryStoreContent> content_;  // shared: the other connections use it, too
  std::uint64_t own_commits_ = 0;
};

Result<std::vector<Result<Reply>>> MemoryStore::write(const std::vector<Write>& batch) {
  const auto locked = lock();
  MemoryTables tables{*content_};
  std::vector<Result<Reply>> replies;
  try {
    replies.reserve(batch.size());
    for (const Write& write : batch) {
      const std::size_t savepoint = tables.changes();
      replies.push_back(apply_write(tables, write));
      if (!replies.back()) {
        tables.roll_back_to(savepoint);
      }
    }
  } catch (...) {
    tables.roll_back_to(0);
    throw;
  }
  if (tables.changes() > 0) {
    ++content_->commits;
    ++own_commits_;
  }
  return replies;
}

const MemoryRun* MemoryStore::find(const RunId& run) const {
  const auto key = content_->keys.find(run);
  return key == content_->keys.end() ? nullptr : &content_->runs.at(key->second);
}

Result<RunRow> MemoryStore::run(const RunId& run) {
  const auto locked = lock();
  MemoryTables tables{*content_};
  return read_run(tables, run);
}

Result<RunRow> MemoryStore::latest_run(const std::string& pipeline) {
  const auto locked = lock();
  const auto after =
      content_->keys.upper_bound({pipeline, std::numeric_limits<std::uint64_t>::max()});
  if (after == content_->keys.begin() || std::prev(after)->first.pipeline != pipeline) {
    return fail(ErrorCode::not_found, "the store in memory has no run of pipeline " + pipeline);
  }
  return content_->runs.at(std::prev(after)->second).row;
}

Result<std::vector<RunRow>> MemoryStore::runs() {
  const auto locked = lock();
  std::vector<RunRow> rows;
  for (const auto& [run, key] : content_->keys) {
    rows.push_back(content_->runs.at(key).row);
  }
  return rows;
}

Result<std::vector<LiveRun>> MemoryStore::live_runs() {
  const auto locked = lock();
  std::vector<LiveRun> live;
  for (const RunId& run : content_->live) {
    const RunRow& row = find(run)->row;
    live.push_back(
        {row.run, row.definition, row.term, row.owner, row.created_at, row.summary.due_at});
  }
  // They come in the order of their ids, which decides among those due at the same time.
  std::stable_sort(live.begin(), live.end(), [](const LiveRun& one, const LiveRun& other) {
    return std::tuple{!one.due_at, one.due_at} < std::tuple{!other.due_at, other.due_at};
  });
  return live;
}

std::vector<RawPass> MemoryStore::raw_passes(const RunId& run, Seq after) {
  const auto locked = lock();
  const MemoryRun* found = find(run);
  if (found == nullptr) {
    return {};
  }
  const auto& passes = found->passes;
  const auto first = std::partition_point(passes.begin(), passes.end(),
                                          [after](const auto& pass) { return pass.seq <= after; });
  return {first, passes.end()};
}

Result<std::vector<StoredPass>> MemoryStore::history(const RunId& run, Seq after) {
  return decode_passes(raw_passes(run, after), run, "the store in memory");
}

Result<std::vector<RawPass>> MemoryStore::raw_history(const RunId& run) {
  return raw_passes(run, Seq{0});
}

Result<std::string> MemoryStore::definition(const DefinitionHash& hash) {
  const auto locked = lock();
  const auto found = content_->definitions.find(hash);
  if (found == content_->definitions.end()) {
    return fail(ErrorCode::not_found, "the store in memory has no definition " + hash);
  }
  return found->second;
}

Result<std::vector<InboxRow>> MemoryStore::inbox(const RunId& run, std::size_t limit) {
  const auto locked = lock();
  std::vector<InboxRow> rows;
  const MemoryRun* found = find(run);
  if (found == nullptr) {
    return rows;
  }
  for (const auto& [id, entry] : found->inbox) {
    if (rows.size() == limit) {
      break;
    }
    auto row = decode_inbox_row(id, entry.message, run, "the store in memory");
    if (!row) {
      return tl::unexpected<Error>{std::move(row).error()};
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

Result<bool> MemoryStore::knows_request(const RunId& run, const std::string& request_id) {
  const auto locked = lock();
  const MemoryRun* found = find(run);
  return found != nullptr && found->inbox_requests.contains(request_id);
}

Result<std::vector<NodeOutput>> MemoryStore::outputs(const RunId& run,
                                                     const std::vector<NodeIndex>& nodes) {
  const auto locked = lock();
  std::vector<NodeOutput> outputs;
  const MemoryRun* found = find(run);
  if (found == nullptr) {
    return outputs;
  }
  for (const NodeIndex node : nodes) {
    if (const auto latest = latest_output(*found, node)) {
      outputs.push_back(*latest);
    }
  }
  return outputs;
}

Result<std::vector<Leftover>> MemoryStore::leftovers(const RunId& run) {
  const auto locked = lock();
  std::vector<Leftover> leftovers;
  if (const MemoryRun* found = find(run)) {
    for (const auto& [key, leftover] : found->leftovers) {
      leftovers.push_back(leftover);
    }
  }
  return leftovers;
}

Result<std::vector<RunId>> MemoryStore::runs_with_inbox() {
  const auto locked = lock();
  std::vector<RunId> runs;
  // One that has ended keeps no rows.
  std::copy_if(content_->live.begin(), content_->live.end(), std::back_inserter(runs),
               [this](const RunId& run) { return !find(run)->inbox.empty(); });
  return runs;
}

Result<std::uint64_t> MemoryStore::data_version() {
  const auto locked = lock();
  return content_->commits - own_commits_;
}

}  // namespace

std::shared_ptr<MemoryStoreContent> make_memory_store_content(std::string lease_authority) {
  auto content = std::make_shared<MemoryStoreContent>();
  content->store_id = random_id();
  content->lease_authority = std::move(lease_authority);
  return content;
}

std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryStoreContent> content) {
  return std::make_unique<MemoryStore>(std::move(content));
}

}  // namespace stagecall
