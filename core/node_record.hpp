// What is known of one node of a run, and of the run beside its nodes. Plain values: changed only
// by Draft::apply.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace stagecall {

/// Later than every real moment: no deadline.
inline constexpr WallTime kNever = WallTime::max();

struct NodeRecord {
  NodeState state = NodeState::blocked;
  std::optional<CancelReason> ending{};  ///< the open attempt was told to end
  bool absent = false;                   ///< its custodian did not know the open attempt
  bool ran = false;                      ///< its executor said that the open attempt runs
  bool had_leftover = false;             ///< an attempt ended unconfirmed; its end may yet be told
  std::uint32_t waiting = 0;             ///< dependencies that are not terminal
  std::uint32_t unsuccessful = 0;        ///< dependencies that ended other than succeeded
  Attempt attempt;                       ///< the latest; 0 = none yet
  Attempt carried;                       ///< the latest of earlier runs, where numbers go on from
  std::uint32_t attempts_counted = 0;    ///< failed and timed_out
  std::uint32_t attempts_lost = 0;
  Nonce nonce;                   ///< of the latest attempt; 0 for external nodes
  std::uint32_t custodian = 0;   ///< of the latest attempt: index into PipelineState::holders()
  WallTime since{};              ///< when it entered its state
  WallTime timeout_at = kNever;  ///< of the open attempt
  WallTime due_at = kNever;      ///< end of backoff, of the wait after a cancel, of lost_after

  WallTime deadline() const { return std::min(timeout_at, due_at); }
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

/// An attempt that an executor has, or may have.
constexpr bool has_open_attempt(NodeState state) {
  return state == NodeState::submitted || state == NodeState::running ||
         state == NodeState::unreachable;
}

/// Why a run no longer starts nodes.
enum class StopCause : std::uint8_t { none, request, failure, timeout };

struct RunRecord {
  RunState state = RunState::queued;
  bool begun = false;  ///< RunStarted has been applied
  StopCause stop_cause = StopCause::none;
  Term term;
  Seq last_seq;
  std::uint32_t holder = 0;  ///< the present one: index into PipelineState::holders(), if any
  WallTime started_at{};
  WallTime ended_at{};
  WallTime timeout_at = kNever;
  NodeCounts counts{};
  std::uint32_t external_running = 0;  ///< of counts[running], the external ones
  std::uint32_t slots_busy = 0;        ///< of attempts in the present holder's custody
  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

}  // namespace stagecall
