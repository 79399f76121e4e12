// The store seam: everything of runs that outlives the process. Batches and fences only, so that a
// networked database can stand behind it. No rule of a run's life is decided here.
#pragma once

#include "messages/events.hpp"
#include "messages/inputs.hpp"
#include "messages/leases.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecall {

/// Content hash of a definition's canonical text: 32 hexadecimal digits (XXH3, 128 bits).
using DefinitionHash = std::string;

/// What the row of a run says beside its history; written with each pass.
struct RunSummary {
  RunState state = RunState::queued;
  NodeCounts nodes{};
  PassCounts passes{};
  std::optional<WallTime>
      due_at{};  ///< next moment that needs a holder; none = only its inbox does
  std::optional<WallTime> ended_at{};
  friend bool operator==(const RunSummary&, const RunSummary&) = default;
};

struct RunRow {
  RunId run;
  DefinitionHash definition;
  std::string owner{};  ///< incarnation of the last term's holder; empty = never held
  Term term;
  Seq last_seq;
  std::uint64_t last_checksum = 0;  ///< of the pass last_seq; 0 for an empty history
  WallTime created_at;
  RunSummary summary;
  std::string parked{};  ///< as the last NoteParked of its term says; empty = it is not
  friend bool operator==(const RunRow&, const RunRow&) = default;
};

/// A pass as stored. The checksum covers the previous one, so a missing row shows.
struct StoredPass {
  Pass pass;
  std::uint64_t checksum = 0;
  friend bool operator==(const StoredPass&, const StoredPass&) = default;
};

/// A pass as its bytes, undecoded: what verify recomputes the chain of checksums from.
struct RawPass {
  Seq seq;
  Term term;
  WallTime at;
  std::uint64_t checksum = 0;
  std::string events{};  ///< encoded
  friend bool operator==(const RawPass&, const RawPass&) = default;
};

struct InboxRow {
  std::int64_t id = 0;
  InboxMessage message;
  friend bool operator==(const InboxRow&, const InboxRow&) = default;
};

// ---- Writes. A batch is one transaction; each write has its own savepoint. ----

/// Inserts a run with its first pass, or finds the live one. With a holder: owned, first term.
struct StartRun {
  std::string pipeline;
  std::string definition;  ///< canonical text, stored once by its hash
  std::uint32_t concurrent_runs = 1;
  std::string request_id{};  ///< not empty: the same id gives the same run, finished or not
  std::optional<ReplicaIdentity> holder{};
  WallTime at;
  std::vector<Event> events;  ///< of the first pass
  RunSummary summary;
  /// Of these nodes the latest outputs of that run, of the same definition, are copied. A run that
  /// is there already gets none. not_found if that run is gone.
  std::optional<RunId> carried_from{};
  std::vector<NodeIndex> carried{};
};
struct RunStartedReply {
  RunRow row;
  bool created = false;  ///< false: `row` is the live run, or the one that the request id started
};

/// Opens a term if the run's term is still the expected one. Else history_moved.
struct OpenTerm {
  RunId run;
  Term expected;
  ReplicaIdentity holder;
};
struct TermReply {
  Term term;
};

/// Appends one pass (or none: no events) and consumes inbox rows. Refused: fenced if a later term
/// owns the run or none was opened, history_moved if `previous` is not the last pass, internal if
/// the term was never given out. When the summary says that the run ended, all of its remaining
/// inbox rows go with it.
struct AppendPass {
  RunId run;
  Term term;
  Seq previous;
  WallTime at;
  std::vector<Event> events;
  std::vector<NodeOutput> outputs{};
  std::vector<std::int64_t> consumed;
  RunSummary summary;
  std::vector<Leftover> leftovers{};     ///< kept until they are confirmed
  std::vector<AttemptMark> confirmed{};  ///< leave the leftovers; nothing if they are none
};
struct AppendReply {
  Seq last_seq;
};

/// Notes for people why nothing is decided for a run now; empty = it is not parked any more. A new
/// term is not parked. Refused as fenced unless the run's term is this one.
struct NoteParked {
  RunId run;
  Term term;
  std::string reason{};
};
struct NotedReply {};

/// Puts a message into a run's inbox, unless the answer says why not. A report of an end that comes
/// when the run has ended takes its attempt off the leftovers.
struct PutInbox {
  RunId run;
  std::string request_id{};  ///< empty: always a new row
  InboxMessage message;
  WallTime at;
};
/// What became of a message, in the order in which they are looked for.
enum class InboxFate : std::uint8_t {
  ended,          ///< not stored: the run has ended
  known_request,  ///< not stored: its request id was stored before, consumed or not
  waiting,        ///< not stored: the first one wins, and a stop, or a report of that node, waits
                  ///< already; or it is a stop and the run is stopping
  stored,
};
struct InboxReply {
  RunState state;  ///< of the run, in the same transaction
  InboxFate fate = InboxFate::stored;
  std::string owner{};  ///< incarnation to nudge; may be empty
  bool is_stored() const { return fate == InboxFate::stored; }
};

/// Removes runs that ended before a moment, the one that ended first first, with all that is kept
/// of them: history, outputs, request ids, and their definitions unless others use them. Never a
/// live run, nor one with an attempt on the leftovers list. Iterations go on counting.
struct PruneRuns {
  WallTime ended_before;
  std::size_t runs_max = 0;  ///< so that one transaction stays short; ask again until fewer went
};
struct PruneReply {
  std::vector<RunId> runs{};  ///< that are gone; what lies in files of theirs is the caller's
  std::uint64_t events = 0;   ///< that their histories had; a damaged pass counts as none
};

using Write = std::variant<StartRun, OpenTerm, AppendPass, NoteParked, PutInbox, PruneRuns>;
using Reply =
    std::variant<RunStartedReply, TermReply, AppendReply, NotedReply, InboxReply, PruneReply>;

/// Which live runs to look for.
struct LiveRun {
  RunId run;
  DefinitionHash definition;
  Term term;
  std::string owner;
  WallTime created_at;
  std::optional<WallTime> due_at;
  friend bool operator==(const LiveRun&, const LiveRun&) = default;
};

/// One instance belongs to one thread at a time. Every call may block up to the busy timeout.
class Store {
 public:
  virtual ~Store() = default;

  /// One transaction. The outer error: nothing of it is durable, except with outcome_unknown, after
  /// which the store has been reopened and each write's run must be read back. An inner error
  /// concerns that write alone; the others are durable.
  virtual Result<std::vector<Result<Reply>>> write(const std::vector<Write>& batch) = 0;

  /// not_found if there is none.
  virtual Result<RunRow> run(const RunId& run) = 0;
  /// The newest iteration of a pipeline.
  virtual Result<RunRow> latest_run(const std::string& pipeline) = 0;
  /// All runs, by pipeline and iteration.
  virtual Result<std::vector<RunRow>> runs() = 0;
  /// Runs that have not ended, earliest due first.
  virtual Result<std::vector<LiveRun>> live_runs() = 0;
  /// Passes after `after`, in order; store_damaged names the row that cannot be read.
  virtual Result<std::vector<StoredPass>> history(const RunId& run, Seq after) = 0;
  /// All passes as stored, damaged ones too; empty if there is no such run.
  virtual Result<std::vector<RawPass>> raw_history(const RunId& run) = 0;
  /// Canonical text of a definition.
  virtual Result<std::string> definition(const DefinitionHash& hash) = 0;
  /// Oldest first, at most `limit`.
  virtual Result<std::vector<InboxRow>> inbox(const RunId& run, std::size_t limit) = 0;
  /// Whether a PutInbox with this request id was stored for the run, consumed or not.
  virtual Result<bool> knows_request(const RunId& run, const std::string& request_id) = 0;
  /// The latest kept output (highest attempt) of each of these nodes that left one, in the order
  /// asked.
  virtual Result<std::vector<NodeOutput>> outputs(const RunId& run,
                                                  const std::vector<NodeIndex>& nodes) = 0;
  /// Attempts of the run that ended unconfirmed and still are; by node and attempt.
  virtual Result<std::vector<Leftover>> leftovers(const RunId& run) = 0;
  /// Runs that have inbox rows.
  virtual Result<std::vector<RunId>> runs_with_inbox() = 0;
  /// Changes whenever another connection has committed; costs no transaction.
  virtual Result<std::uint64_t> data_version() = 0;
  /// Random name of this store, written when it was created.
  virtual std::string store_id() const = 0;
  /// Who keeps the leases of its runs, as it was recorded when this was opened.
  virtual std::string lease_authority() const = 0;
};

}  // namespace stagecall
