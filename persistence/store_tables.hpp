// What the rules of writes need of a store's tables. An implementation keeps rows and breaks no
// constraint of the schema; it decides nothing. All calls run inside the caller's transaction.
#pragma once

#include "persistence/store.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace stagecall {

/// Names the rows of one run inside its store; never used again.
using RunKey = Number<struct RunKeyTag, std::int64_t>;

/// What a write needs to know of its run.
struct RunHead {
  RunKey key{};
  Term term{};
  Seq last_seq{};
  std::uint64_t last_checksum = 0;
  RunState state = RunState::queued;
  std::string owner{};
};

struct LiveCount {
  std::uint64_t runs = 0;
  std::uint64_t newest = 0;  ///< iteration; 0 = none lives
};

/// An inbox row to be. Of one subject only one may wait; without a subject any number.
struct InboxEntry {
  WallTime at;
  std::optional<std::string> subject{};
  std::string message{};  ///< encoded
};

struct EndedRun {
  RunKey key{};
  RunId run{};
  DefinitionHash definition{};
};

class StoreTables {
 public:
  virtual ~StoreTables() = default;

  /// The store for error texts, as in `store PATH`.
  virtual std::string name() const = 0;

  virtual Result<std::optional<RunRow>> find_run(const RunId& run) = 0;
  virtual Result<std::optional<RunHead>> find_head(const RunId& run) = 0;
  virtual Result<LiveCount> count_live(const std::string& pipeline) = 0;
  virtual Result<std::optional<RunId>> find_start_request(const std::string& request_id) = 0;
  virtual Result<bool> knows_inbox_request(RunKey run, const std::string& request_id) = 0;
  /// At most `limit` runs without leftovers, the one that ended first first.
  virtual Result<std::vector<EndedRun>> find_ended(WallTime before, std::size_t limit) = 0;
  /// In all passes of the run.
  virtual Result<std::uint64_t> count_events(RunKey run) = 0;

  /// Counts the pipeline's iterations up by one; what is taken is never given again.
  virtual Result<std::uint64_t> take_iteration(const std::string& pipeline) = 0;
  /// Kept once by its hash.
  virtual Result<void> put_definition(const DefinitionHash& hash, const std::string& text) = 0;
  /// Without history and summary: set_head follows.
  virtual Result<RunKey> insert_run(const RunRow& row) = 0;
  /// A known id keeps its run.
  virtual Result<void> put_start_request(const std::string& request_id, RunKey run) = 0;
  virtual Result<void> insert_pass(RunKey run, const RawPass& pass) = 0;
  /// Where the history ends, and the summary.
  virtual Result<void> set_head(const RunHead& head, const RunSummary& summary) = 0;
  /// The new holder is not parked.
  virtual Result<void> set_holder(RunKey run, Term term, const std::string& owner) = 0;
  virtual Result<void> set_parked(RunKey run, const std::string& reason) = 0;
  /// That of the same attempt is replaced.
  virtual Result<void> put_output(RunKey run, const NodeOutput& output) = 0;
  /// The latest of the node, if it left one.
  virtual Result<void> copy_output(RunKey from, RunKey into, NodeIndex node) = 0;
  /// That of the same attempt stays.
  virtual Result<void> put_leftover(RunKey run, const Leftover& leftover) = 0;
  /// Nothing if the attempt with this nonce is none.
  virtual Result<void> delete_leftover(RunKey run, Nonce nonce) = 0;
  /// False: one of its subject waits already.
  virtual Result<bool> insert_inbox(RunKey run, const InboxEntry& entry) = 0;
  virtual Result<void> put_inbox_request(RunKey run, const std::string& request_id) = 0;
  /// Nothing if the run has no such row.
  virtual Result<void> delete_inbox(RunKey run, std::int64_t id) = 0;
  virtual Result<void> delete_whole_inbox(RunKey run) = 0;
  /// With all rows of it.
  virtual Result<void> delete_run(RunKey run) = 0;
  virtual Result<void> delete_unused_definition(const DefinitionHash& hash) = 0;
};

}  // namespace stagecall
