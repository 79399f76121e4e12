// What can be said of a run: its states, its nodes' states, how an attempt ended.
#pragma once

#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecall {

/// Where a run stands; the last three are final.
enum class RunState : std::uint8_t {
  queued,     ///< recorded, nothing of it decided yet
  running,    ///< nodes wait, run or are retried
  stopping,   ///< its stop is recorded; what runs is being ended
  succeeded,  ///< every node ended, none failed or was stopped
  failed,     ///< a node failed, or the run's timeout fired
  stopped,    ///< a node was stopped, and none failed
};

/// Where a node stands; the last four are final.
enum class NodeState : std::uint8_t {
  blocked,      ///< dependencies not finished
  ready,        ///< may start, waits for a slot
  submitted,    ///< an attempt is recorded and handed to its executor
  running,      ///< its executor says so, or an external node whose turn has come
  backoff,      ///< the last attempt failed; the next is due at a recorded time
  unreachable,  ///< its custodian cannot be asked
  succeeded,    ///< an attempt ended well, or it is a join whose turn came
  failed,       ///< its last allowed attempt ended badly
  skipped,      ///< its dependencies ended so that it can never run
  stopped,      ///< ended, or kept from starting, by a stop
};
/// How many states there are: the length of NodeCounts.
inline constexpr std::size_t kNodeStateCount = 10;

/// In which way an attempt ended.
enum class OutcomeKind : std::uint8_t {
  succeeded,     ///< it did its work
  failed,        ///< by exit code, signal or error; counts against max_attempts
  timed_out,     ///< its node's timeout, or the run's, was over; counts against max_attempts
  lost,          ///< what launched it is gone, or does not know it; counts against max_lost
  stopped,       ///< ended because the run was told to stop
  rejected,      ///< the executor refused the attempt for good
  not_launched,  ///< recorded but provably never started; uses up nothing
  interrupted,   ///< ended by a drain; uses up nothing
};

/// How an attempt ended.
struct Outcome {
  OutcomeKind kind = OutcomeKind::succeeded;  ///< what the engine decides by
  std::optional<std::int32_t> exit_code{};    ///< of a command that exited
  std::optional<std::int32_t> signal{};       ///< of a command that a signal ended
  std::string error{};  ///< for people; `exit 3`, `signal 11 (SEGV)`, `lost`; empty when succeeded

  /// For node_done: it went well.
  static Outcome succeeded() { return {}; }
  /// For node_done: it did not; the text is for people.
  static Outcome failed(std::string error) {
    return {.kind = OutcomeKind::failed, .error = std::move(error)};
  }

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Whether the state is final: the run has ended.
constexpr bool is_terminal(RunState state) {
  return state >= RunState::succeeded;
}
/// Whether the state is final: nothing of the node will run any more.
constexpr bool is_terminal(NodeState state) {
  return state >= NodeState::succeeded;
}

/// The state's name, as in JSON: `running`.
std::string_view name_of(RunState state);
/// The state's name, as in JSON: `backoff`.
std::string_view name_of(NodeState state);
/// The kind's name, as in JSON: `timed_out`.
std::string_view name_of(OutcomeKind kind);

/// Nodes by state; index with NodeState.
using NodeCounts = std::array<std::uint32_t, kNodeStateCount>;

/// Passes of a run by what caused them.
struct PassCounts {
  std::uint64_t tick = 0;   ///< the run looked at itself
  std::uint64_t event = 0;  ///< a report, a request or a deadline
  friend bool operator==(const PassCounts&, const PassCounts&) = default;
};

/// A node that failed, with the attempt that decided it.
struct FailedNode {
  std::string node;  ///< its id
  Attempt attempt;   ///< its last one
  Outcome outcome;   ///< how that ended
  friend bool operator==(const FailedNode&, const FailedNode&) = default;
};

/// A node that runs now.
struct RunningNode {
  std::string node;  ///< its id
  Attempt attempt;   ///< the one that runs
  Duration age{0};   ///< since it was known to run
  /// How far it is, 0 … 1, as it last said; none: it has not, or who schedules the run does not
  /// answer. Not recorded: the next who schedules the run knows only what it says from then on.
  std::optional<double> progress{};
  friend bool operator==(const RunningNode&, const RunningNode&) = default;
};

/// A snapshot of a run, as durable at one moment.
struct RunStatus {
  RunId run;                           ///< which
  RunState state = RunState::queued;   ///< where it stands
  Duration elapsed{0};                 ///< from its start to its end, or to now
  NodeCounts nodes{};                  ///< how many are in which state
  PassCounts passes{};                 ///< evaluations so far
  std::vector<FailedNode> failed{};    ///< in the order in which they failed
  std::vector<RunningNode> running{};  ///< oldest first, at most 100
  std::string parked{};       ///< why nothing is decided for it now; empty = it is not parked
  std::string quarantined{};  ///< why its history cannot be gone on with; empty = it can
};

/// What keeps a node from running.
enum class WaitReason : std::uint8_t {
  none,          ///< nothing: it runs, has succeeded, or starts with the next pass
  dependency,    ///< the nodes before it: not ended yet, or ended so that it is skipped
  slot,          ///< no slot is free
  backoff,       ///< the wait after a failed attempt
  lease,         ///< nobody who is sure of its lease schedules the run, goes on and answers
  executor,      ///< its attempt is with its executor, which has not begun it
  task_missing,  ///< nobody who could hold the run can run its action
  external,      ///< somebody outside has to report its end
  custodian,     ///< whoever launched its attempt cannot be asked, or does not know it
  stopping,      ///< it was told to end, or is not to start any more
  quarantine,    ///< the run is left alone, because something is wrong with it
  finished,      ///< it has failed or was stopped by itself
};

/// The reason's name, as in JSON: `task_missing`.
std::string_view name_of(WaitReason reason);

/// Why a node does not run, and what would change that.
struct NodeExplanation {
  std::string node;                      ///< its id
  NodeState state = NodeState::blocked;  ///< where it stands
  WaitReason reason = WaitReason::none;  ///< the one that would have to change first
  std::string text{};                    ///< for people: one sentence
  std::optional<WallTime> until{};       ///< when the wait ends by itself
  std::vector<std::string> culprits{};   ///< nodes that hold it back; of many the first 20
  friend bool operator==(const NodeExplanation&, const NodeExplanation&) = default;
};

}  // namespace stagecall
