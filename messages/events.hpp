// The facts of a run, as persisted: what decide() concludes and apply() folds. A pass is the unit
// of history. What follows by rule (skips, joins, stops of what never started) is derived, not
// listed.
#pragma once

#include "messages/leases.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecall {

/// First event of every history; the nodes without dependencies get their turn.
struct RunStarted {
  friend bool operator==(const RunStarted&, const RunStarted&) = default;
};

/// A holder's first pass under a new term. Attempts submitted under it are in its custody.
struct TermOpened {
  ReplicaIdentity holder;
  friend bool operator==(const TermOpened&, const TermOpened&) = default;
};

/// Recorded before the executor hears of it.
struct AttemptSubmitted {
  NodeIndex node;
  Attempt attempt;
  Nonce nonce;
  friend bool operator==(const AttemptSubmitted&, const AttemptSubmitted&) = default;
};

struct AttemptRunning {
  NodeIndex node;
  Attempt attempt;
  friend bool operator==(const AttemptRunning&, const AttemptRunning&) = default;
};

/// Its custodian does not know it; lost if still so `lost_after` later.
struct AttemptAbsent {
  NodeIndex node;
  Attempt attempt;
  friend bool operator==(const AttemptAbsent&, const AttemptAbsent&) = default;
};

/// Its custodian cannot be asked.
struct AttemptUnreachable {
  NodeIndex node;
  Attempt attempt;
  friend bool operator==(const AttemptUnreachable&, const AttemptUnreachable&) = default;
};

/// Its custodian has it after all.
struct AttemptFound {
  NodeIndex node;
  Attempt attempt;
  friend bool operator==(const AttemptFound&, const AttemptFound&) = default;
};

/// Its timeout has passed; it is told to end.
struct AttemptTimedOut {
  NodeIndex node;
  Attempt attempt;
  friend bool operator==(const AttemptTimedOut&, const AttemptTimedOut&) = default;
};

/// What the end of an attempt means for its node.
enum class Next : std::uint8_t {
  finish,   ///< the node ends as the outcome says
  backoff,  ///< another attempt at `retry_at`
  again,    ///< another attempt as soon as a slot is free
};

struct AttemptEnded {
  NodeIndex node;
  Attempt attempt;
  Outcome outcome;
  Next next = Next::finish;
  std::optional<WallTime> retry_at{};  ///< exactly with Next::backoff
  bool confirmed = true;               ///< false: nobody said so; it stays on the leftovers list
  friend bool operator==(const AttemptEnded&, const AttemptEnded&) = default;
};

/// The wait after a failed attempt is over.
struct BackoffEnded {
  NodeIndex node;
  friend bool operator==(const BackoffEnded&, const BackoffEnded&) = default;
};

/// An operator ended the node, whatever its state.
struct NodeForced {
  NodeIndex node;
  Outcome outcome;
  std::string reason;
  friend bool operator==(const NodeForced&, const NodeForced&) = default;
};

struct StopRequested {
  std::string reason;
  friend bool operator==(const StopRequested&, const StopRequested&) = default;
};

struct RunTimedOut {
  friend bool operator==(const RunTimedOut&, const RunTimedOut&) = default;
};

/// Last event of a history.
struct RunEnded {
  RunState result = RunState::succeeded;
  friend bool operator==(const RunEnded&, const RunEnded&) = default;
};

/// Right after the start of a rerun: the node has ended in an earlier run of the same definition.
/// Whatever the end, its attempts go on counting from there.
struct NodeCarried {
  NodeIndex node;
  Attempt attempt;            ///< its last one there; 0 = it succeeded without
  bool has_succeeded = true;  ///< it is not run again; its output is that of the earlier run
  friend bool operator==(const NodeCarried&, const NodeCarried&) = default;
};

/// What an attempt left for the successors of its node. Kept beside the history, outside the fold.
struct NodeOutput {
  NodeIndex node;
  Attempt attempt;
  std::string body;  ///< JSON, ≤ 64 KiB
  friend bool operator==(const NodeOutput&, const NodeOutput&) = default;
};

/// Names one attempt of a run beside the history; the nonce alone would do.
struct AttemptMark {
  NodeIndex node;
  Attempt attempt;
  Nonce nonce;
  friend bool operator==(const AttemptMark&, const AttemptMark&) = default;
};

/// An attempt that was ended without a confirmation: something of it may still run. Kept beside the
/// history until its end is told.
struct Leftover {
  AttemptMark mark;
  std::string custodian{};  ///< name of the replica that launched it
  WallTime since{};         ///< when it was ended
  friend bool operator==(const Leftover&, const Leftover&) = default;
};

using Event =
    std::variant<RunStarted, TermOpened, AttemptSubmitted, AttemptRunning, AttemptAbsent,
                 AttemptUnreachable, AttemptFound, AttemptTimedOut, AttemptEnded, BackoffEnded,
                 NodeForced, StopRequested, RunTimedOut, RunEnded, NodeCarried>;

/// The kind as history shows it: `attempt_ended`.
std::string_view kind_of(const Event& event);

/// One row of history: all that one evaluation of decide() concluded.
struct Pass {
  Seq seq;
  Term term;
  WallTime at;
  std::vector<Event> events;
  friend bool operator==(const Pass&, const Pass&) = default;
};

}  // namespace stagecall
