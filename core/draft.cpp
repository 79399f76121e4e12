#include "core/draft.hpp"

#include "messages/limits.hpp"

#include <algorithm>
#include <cassert>

namespace stagecall {
namespace {

std::uint32_t& count_of(NodeCounts& counts, NodeState state) {
  return counts[static_cast<std::size_t>(state)];
}

bool is_slurm(const NodeSpec& spec) {
  const auto* command = std::get_if<CommandAction>(&spec.action);
  return command != nullptr && command->executor == CommandExecutor::slurm;
}

WallTime after(WallTime at, std::optional<Duration> wait) {
  return wait ? at + *wait : kNever;
}

/// How long the word of an executor is waited for after a cancel: the grace, then its KILL.
Duration end_wait(const NodeSpec& spec) {
  return spec.grace + kLimits.cancel_confirm;
}

}  // namespace

NodeSignal final_signal(OutcomeKind outcome, bool stopping) {
  switch (outcome) {
    case OutcomeKind::succeeded: return NodeSignal::succeed;
    case OutcomeKind::failed:
    case OutcomeKind::timed_out:
    case OutcomeKind::rejected: return NodeSignal::fail;
    case OutcomeKind::stopped:
    case OutcomeKind::not_launched:
    case OutcomeKind::interrupted: return NodeSignal::stop;
    case OutcomeKind::lost: return stopping ? NodeSignal::stop : NodeSignal::fail;
  }
  return NodeSignal::fail;
}

Duration longest_wait(const NodeSpec& spec, const NodeRecord& record) {
  if (record.state == NodeState::backoff) {
    return spec.retry.delay_max;
  }
  if (!record.ending) {
    return spec.lost_after;
  }
  // Another attempt must not overlap the one that times out.
  const bool has_next = record.ending == CancelReason::timeout &&
                        record.attempts_counted + 1 < spec.retry.attempts_max;
  return end_wait(spec) + (has_next ? spec.lost_after : Duration{0});
}

const NodeRecord& Draft::node(NodeIndex node) const {
  const auto found = slot_of_.find(node);
  return found == slot_of_.end() ? base_->node(node) : touched_[found->second].second;
}

NodeRecord& Draft::edit(NodeIndex node) {
  const auto [found, added] = slot_of_.try_emplace(node, touched_.size());
  if (added) {
    touched_.emplace_back(node, base_->node(node));
  }
  return touched_[found->second].second;
}

void Draft::apply(const Event& event) {
  std::visit([this](const auto& fact) { on(fact); }, event);
  spread_ends();
}

void Draft::on(const RunStarted&) {
  run_.begun = true;
  run_.started_at = at_;
  run_.timeout_at = after(at_, base_->definition().spec().timeout);
  for (std::uint32_t i = 0; i < base_->size(); ++i) {
    if (node(NodeIndex{i}).waiting > 0) {
      continue;
    }
    if (spec(NodeIndex{i}).trigger == Trigger::any_failed) {
      move(NodeIndex{i}, NodeSignal::skip);  // nothing before it can fail
    } else {
      turn_has_come(NodeIndex{i});
    }
  }
}

void Draft::on(const TermOpened& event) {
  run_.holder = static_cast<std::uint32_t>(base_->holders().size() + holders_added_.size());
  holders_added_.push_back(event.holder);
  // What runs now stays in the custody of who launched it: this very process, if it held the run
  // before.
  run_.slots_busy = 0;
  for (const NodeIndex node : open()) {
    if (!is_external(spec(node)) && holder(this->node(node).custodian) == event.holder) {
      edit(node).custodian = run_.holder;
      run_.slots_busy += base_->width(node);
    }
  }
  if (run_.state == RunState::queued) {
    run_.state = RunState::running;
  }
  // The new holder's clock may differ: what is left of a wait is at most the whole of it.
  if (run_.timeout_at != kNever) {
    run_.timeout_at = std::min(run_.timeout_at, after(at_, base_->definition().spec().timeout));
  }
  for (const auto& [deadline, node] : base_->deadlines()) {
    NodeRecord& record = edit(node);
    if (record.timeout_at != kNever) {
      record.timeout_at = std::min(record.timeout_at, after(at_, spec(node).timeout));
    }
    if (record.due_at != kNever) {
      record.due_at = std::min(record.due_at, at_ + longest_wait(spec(node), record));
    }
  }
}

void Draft::on(const AttemptSubmitted& event) {
  move(event.node, NodeSignal::submit);
  NodeRecord& record = edit(event.node);
  record.attempt = event.attempt;
  record.nonce = event.nonce;
  record.custodian = run_.holder;
  // Slurm's own queue may hold an attempt for long: its clock starts when it runs.
  record.timeout_at = is_slurm(spec(event.node)) ? kNever : after(at_, spec(event.node).timeout);
  run_.slots_busy += base_->width(event.node);
}

void Draft::on(const AttemptRunning& event) {
  move(event.node, NodeSignal::run);
  forget_absence(event.node);
  NodeRecord& record = edit(event.node);
  if (!record.ending && !record.ran) {
    record.timeout_at = after(at_, spec(event.node).timeout);
  }
  record.ran = true;
}

void Draft::on(const AttemptAbsent& event) {
  come_into_sight(event.node);  // its custodian answers
  NodeRecord& record = edit(event.node);
  record.absent = true;
  if (!record.ending) {
    record.due_at = at_ + spec(event.node).lost_after;
  }
}

void Draft::on(const AttemptUnreachable& event) {
  move(event.node, NodeSignal::lose_sight);
  forget_absence(event.node);
}

void Draft::on(const AttemptFound& event) {
  come_into_sight(event.node);
}

void Draft::on(const AttemptTimedOut& event) {
  NodeRecord& record = edit(event.node);
  record.ending = CancelReason::timeout;
  record.timeout_at = kNever;
  record.due_at = at_ + longest_wait(spec(event.node), record);
}

void Draft::on(const AttemptEnded& event) {
  const bool was_failure =
      event.outcome.kind == OutcomeKind::failed || event.outcome.kind == OutcomeKind::timed_out;
  release_attempt(event.node);
  NodeRecord& record = edit(event.node);
  record.had_leftover = record.had_leftover || !event.confirmed;
  record.attempts_counted += was_failure ? 1 : 0;
  record.attempts_lost += event.outcome.kind == OutcomeKind::lost ? 1 : 0;
  switch (event.next) {
    case Next::finish: {
      const NodeSignal signal = final_signal(event.outcome.kind, is_stopping());
      if (signal == NodeSignal::fail) {
        note_failure(event.node, event.outcome);
      }
      settle(event.node, signal);
      break;
    }
    case Next::backoff:
      record.due_at = event.retry_at.value_or(at_);
      move(event.node, NodeSignal::back_off);
      break;
    case Next::again: move(event.node, NodeSignal::again); break;
  }
}

void Draft::on(const BackoffEnded& event) {
  edit(event.node).due_at = kNever;
  if (is_external(spec(event.node))) {
    open_external(event.node);
  } else {
    move(event.node, NodeSignal::again);
  }
}

void Draft::on(const NodeForced& event) {
  if (has_open_attempt(node(event.node).state)) {
    edit(event.node).had_leftover = !is_external(spec(event.node));
    release_attempt(event.node);
  }
  const NodeSignal signal = final_signal(event.outcome.kind, is_stopping());
  if (signal == NodeSignal::fail) {
    note_failure(event.node, event.outcome);
  }
  settle(event.node, signal);
}

void Draft::on(const StopRequested&) {
  begin_stop(StopCause::request);
}

void Draft::on(const RunTimedOut&) {
  begin_stop(StopCause::timeout);
}

void Draft::on(const RunEnded& event) {
  run_.state = event.result;
  run_.ended_at = at_;
  run_.timeout_at = kNever;
}

/// An external node may have its turn by now, and so its next attempt.
void Draft::on(const NodeCarried& event) {
  NodeRecord& record = edit(event.node);
  record.carried = event.attempt;
  if (!event.has_succeeded) {
    record.attempt.value += event.attempt.value;
    return;
  }
  record.attempt = event.attempt;
  if (has_open_attempt(record.state)) {
    release_attempt(event.node);
  }
  move(event.node, NodeSignal::succeed);
}

void Draft::move(NodeIndex node, NodeSignal signal) {
  NodeRecord& record = edit(node);
  const auto to = next_state(record.state, signal);
  assert(to && "every event was checked against the table before it got here");
  const bool external = is_external(spec(node));
  if (external && record.state == NodeState::running) {
    --run_.external_running;
  }
  if (external && *to == NodeState::running) {
    ++run_.external_running;
  }
  --count_of(run_.counts, record.state);
  ++count_of(run_.counts, *to);
  record.state = *to;
  record.since = at_;
  if (*to == NodeState::ready) {
    ready_added_.insert(base_->ready_key(node));
  }
  if (is_terminal(*to)) {
    record.due_at = kNever;
    record.timeout_at = kNever;
    ended_.push_back(node);
  }
}

/// Ends a node; a failed one may stop the run. The stop comes first: then nothing behind it starts.
void Draft::settle(NodeIndex node, NodeSignal signal) {
  move(node, signal);
  if (signal == NodeSignal::fail && base_->definition().spec().on_failure == OnFailure::stop &&
      !is_stopping()) {
    begin_stop(StopCause::failure);
  }
}

void Draft::begin_stop(StopCause cause) {
  run_.stop_cause = cause;
  run_.state = RunState::stopping;
  run_.timeout_at = kNever;
  const CancelReason reason =
      cause == StopCause::timeout ? CancelReason::timeout : CancelReason::stop;
  for (std::uint32_t i = 0; i < base_->size(); ++i) {
    const NodeIndex index{i};
    const NodeState state = node(index).state;
    if (is_terminal(state)) {
      continue;
    }
    if (!has_open_attempt(state)) {
      move(index, NodeSignal::stop);
    } else if (is_external(spec(index))) {
      release_attempt(index);
      if (cause == StopCause::timeout) {
        note_failure(index, {.kind = OutcomeKind::timed_out, .error = "the run timed out"});
      }
      move(index, cause == StopCause::timeout ? NodeSignal::fail : NodeSignal::stop);
    } else {
      NodeRecord& record = edit(index);
      const WallTime end_due = at_ + end_wait(spec(index));
      // No attempt follows: one that was told already need not be waited for longer.
      record.due_at = record.ending ? std::min(record.due_at, end_due) : end_due;
      record.ending = record.ending.value_or(reason);
      record.timeout_at = kNever;
    }
  }
}

void Draft::release_attempt(NodeIndex node) {
  NodeRecord& record = edit(node);
  if (!is_external(spec(node)) && record.custodian == run_.holder) {
    run_.slots_busy -= base_->width(node);
  }
  record.ending.reset();
  record.absent = false;
  record.ran = false;
  record.timeout_at = kNever;
  record.due_at = kNever;
}

void Draft::forget_absence(NodeIndex node) {
  NodeRecord& record = edit(node);
  if (record.absent && !record.ending) {
    record.due_at = kNever;
  }
  record.absent = false;
}

/// Its custodian answers for the open attempt, which is as it was before it went out of sight.
void Draft::come_into_sight(NodeIndex node) {
  if (this->node(node).state == NodeState::unreachable) {
    move(node, this->node(node).ran ? NodeSignal::run : NodeSignal::find);
  }
  forget_absence(node);
}

const ReplicaIdentity& Draft::holder(std::uint32_t index) const {
  const std::size_t old = base_->holders().size();
  return index < old ? base_->holders()[index] : holders_added_[index - old];
}

void Draft::note_failure(NodeIndex node, const Outcome& outcome) {
  failures_added_.push_back({spec(node).id, this->node(node).attempt, outcome});
}

void Draft::turn_has_come(NodeIndex node) {
  if (is_stopping()) {
    move(node, NodeSignal::stop);
  } else if (std::holds_alternative<JoinAction>(spec(node).action)) {
    move(node, NodeSignal::pass_through);
  } else if (is_external(spec(node))) {
    open_external(node);
  } else {
    move(node, NodeSignal::turn);
  }
}

void Draft::open_external(NodeIndex node) {
  move(node, NodeSignal::open);
  NodeRecord& record = edit(node);
  ++record.attempt.value;
  record.timeout_at = after(at_, spec(node).timeout);
}

void Draft::dependency_ended(NodeIndex node, bool succeeded) {
  NodeRecord& record = edit(node);
  --record.waiting;
  record.unsuccessful += succeeded ? 0 : 1;
  if (record.state != NodeState::blocked) {
    return;
  }
  const bool all_ended = record.waiting == 0;
  const bool any_unsuccessful = record.unsuccessful > 0;
  switch (spec(node).trigger) {
    case Trigger::all_succeeded:
      if (any_unsuccessful) {
        move(node, NodeSignal::skip);
      } else if (all_ended) {
        turn_has_come(node);
      }
      break;
    case Trigger::all_finished:
      if (all_ended) {
        turn_has_come(node);
      }
      break;
    case Trigger::any_failed:
      if (any_unsuccessful) {
        turn_has_come(node);
      } else if (all_ended) {
        move(node, NodeSignal::skip);
      }
      break;
  }
}

/// Tells the successors of every node that ended, and theirs, until nothing more follows.
void Draft::spread_ends() {
  while (!ended_.empty()) {
    const NodeIndex ended = ended_.back();
    ended_.pop_back();
    const bool succeeded = node(ended).state == NodeState::succeeded;
    for (const NodeIndex successor : base_->definition().graph().successors(ended)) {
      dependency_ended(successor, succeeded);
    }
  }
}

std::optional<NodeIndex> Draft::first_ready() {
  const auto is_still_ready = [this](const ReadyKey& key) {
    return node(key.node).state == NodeState::ready;
  };
  ready_cursor_ = std::find_if(ready_cursor_, base_->ready().end(), is_still_ready);
  while (!ready_added_.empty() && !is_still_ready(*ready_added_.begin())) {
    ready_added_.erase(ready_added_.begin());
  }
  if (ready_added_.empty()) {
    return ready_cursor_ == base_->ready().end() ? std::nullopt
                                                 : std::optional{ready_cursor_->node};
  }
  const ReadyKey& added = *ready_added_.begin();
  const bool base_first = ready_cursor_ != base_->ready().end() && *ready_cursor_ < added;
  return base_first ? ready_cursor_->node : added.node;
}

std::vector<NodeIndex> Draft::open() const {
  std::vector<NodeIndex> open{base_->open().begin(), base_->open().end()};
  for (const auto& [index, record] : touched_) {
    open.push_back(index);
  }
  std::erase_if(open, [this](NodeIndex index) { return !has_open_attempt(node(index).state); });
  std::sort(open.begin(), open.end());
  open.erase(std::unique(open.begin(), open.end()), open.end());
  return open;
}

std::vector<NodeIndex> Draft::due() const {
  std::vector<NodeIndex> due;
  for (const auto& [deadline, index] : base_->deadlines()) {
    if (deadline > at_) {
      break;
    }
    if (node(index).deadline() <= at_) {
      due.push_back(index);
    }
  }
  return due;
}

WallTime Draft::next_deadline() const {
  WallTime next = run_.timeout_at;
  for (const auto& [deadline, index] : base_->deadlines()) {
    if (!slot_of_.contains(index)) {
      next = std::min(next, deadline);
      break;
    }
  }
  for (const auto& [index, record] : touched_) {
    next = std::min(next, record.deadline());
  }
  return next;
}

bool Draft::all_terminal() const {
  const auto first_terminal = run_.counts.begin() + static_cast<int>(NodeState::succeeded);
  return std::all_of(run_.counts.begin(), first_terminal,
                     [](std::uint32_t count) { return count == 0; });
}

bool Draft::waits_for_outside_only() const {
  const auto count = [this](NodeState state) {
    return run_.counts[static_cast<std::size_t>(state)];
  };
  return count(NodeState::ready) == 0 && count(NodeState::submitted) == 0 &&
         count(NodeState::backoff) == 0 && count(NodeState::unreachable) == 0 &&
         count(NodeState::running) == run_.external_running;
}

}  // namespace stagecall
