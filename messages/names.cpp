// The texts of public enumerations and ids, as JSON, logs and people see them.
#include "messages/events.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"
#include "stagecall/trace.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <variant>

namespace stagecall {

std::optional<RunId> RunId::parse(std::string_view text) {
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos || slash == 0) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(slash + 1);
  RunId run{std::string{text.substr(0, slash)}, 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), run.iteration);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && run.iteration > 0 && digits.front() != '0' ? std::optional{run} : std::nullopt;
}

std::string AttemptKey::text() const {
  char tail[64];
  std::snprintf(tail, sizeof tail, "/%u@%016llx", attempt.value,
                static_cast<unsigned long long>(nonce.value));
  return run.text() + "/" + node + tail;
}

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::invalid_pipeline: return "invalid_pipeline";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::different_pipeline: return "different_pipeline";
    case ErrorCode::not_external: return "not_external";
    case ErrorCode::not_waiting: return "not_waiting";
    case ErrorCode::old_attempt: return "old_attempt";
    case ErrorCode::store_unavailable: return "store_unavailable";
    case ErrorCode::store_damaged: return "store_damaged";
    case ErrorCode::store_newer: return "store_newer";
    case ErrorCode::outcome_unknown: return "outcome_unknown";
    case ErrorCode::fenced: return "fenced";
    case ErrorCode::history_moved: return "history_moved";
    case ErrorCode::lease_busy: return "lease_busy";
    case ErrorCode::lease_lost: return "lease_lost";
    case ErrorCode::lease_unavailable: return "lease_unavailable";
    case ErrorCode::lease_authority: return "lease_authority";
    case ErrorCode::executor_unavailable: return "executor_unavailable";
    case ErrorCode::limit_reached: return "limit_reached";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::queued: return "queued";
    case RunState::running: return "running";
    case RunState::stopping: return "stopping";
    case RunState::succeeded: return "succeeded";
    case RunState::failed: return "failed";
    case RunState::stopped: return "stopped";
  }
  return "?";
}

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::blocked: return "blocked";
    case NodeState::ready: return "ready";
    case NodeState::submitted: return "submitted";
    case NodeState::running: return "running";
    case NodeState::backoff: return "backoff";
    case NodeState::unreachable: return "unreachable";
    case NodeState::succeeded: return "succeeded";
    case NodeState::failed: return "failed";
    case NodeState::skipped: return "skipped";
    case NodeState::stopped: return "stopped";
  }
  return "?";
}

std::string_view name_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::succeeded: return "succeeded";
    case OutcomeKind::failed: return "failed";
    case OutcomeKind::timed_out: return "timed_out";
    case OutcomeKind::lost: return "lost";
    case OutcomeKind::stopped: return "stopped";
    case OutcomeKind::rejected: return "rejected";
    case OutcomeKind::not_launched: return "not_launched";
    case OutcomeKind::interrupted: return "interrupted";
  }
  return "?";
}

std::string_view name_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::none: return "none";
    case WaitReason::dependency: return "dependency";
    case WaitReason::slot: return "slot";
    case WaitReason::backoff: return "backoff";
    case WaitReason::lease: return "lease";
    case WaitReason::executor: return "executor";
    case WaitReason::task_missing: return "task_missing";
    case WaitReason::external: return "external";
    case WaitReason::custodian: return "custodian";
    case WaitReason::stopping: return "stopping";
    case WaitReason::quarantine: return "quarantine";
    case WaitReason::finished: return "finished";
  }
  return "?";
}

std::string_view name_of(MessageOutcome outcome) {
  switch (outcome) {
    case MessageOutcome::handled: return "handled";
    case MessageOutcome::skipped: return "skipped";
    case MessageOutcome::dropped: return "dropped";
    case MessageOutcome::threw: return "threw";
  }
  return "?";
}

std::string_view kind_of(const Event& event) {
  static constexpr std::array<std::string_view, std::variant_size_v<Event>> kKinds{
      "run_started",    "term_opened",         "attempt_submitted", "attempt_running",
      "attempt_absent", "attempt_unreachable", "attempt_found",     "attempt_timed_out",
      "attempt_ended",  "backoff_ended",       "node_forced",       "stop_requested",
      "run_timed_out",  "run_ended",           "node_carried"};
  return kKinds[event.index()];
}

}  // namespace stagecall
