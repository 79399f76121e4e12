#include "core/decide.hpp"

#include "core/admission.hpp"
#include "core/duration.hpp"
#include "core/random_sequence.hpp"
#include "core/retry.hpp"
#include "core/run_result.hpp"

#include <cassert>
#include <string>
#include <utility>

namespace stagecall {
namespace {

/// Collects the events and effects of one pass.
class Decider {
 public:
  Decider(const PipelineState& state, const DecideContext& context)
      : context_(context), random_(context.random), decision_{.draft = Draft{state, context.now}} {}

  void take(const Input& input) {
    std::visit([this](const auto& alternative) { on(alternative); }, input);
  }
  void end_waits();
  void fill_slots();
  void tell_those_that_must_end();
  void end_run_if_done();
  Decision finish() && { return std::move(decision_); }

 private:
  void on(const TickInput&);
  void on(const TermInput& input);
  void on(const ReportInput& input);
  void on(const StopInput& input);
  void on(const NodeDoneInput& input);

  void on_news(NodeIndex node, const SaysRunning&);
  void on_news(NodeIndex node, const SaysProgress&) { on_news(node, SaysRunning{}); }
  void on_news(NodeIndex node, const SaysEnded& news);
  void on_news(NodeIndex node, const SaysAlive&);
  void on_news(NodeIndex node, const SaysAbsent& news);
  void on_news(NodeIndex node, const SaysUnknown&);

  void record(Event event);
  void end_attempt(NodeIndex node, Outcome outcome, bool confirmed);
  void end_node_wait(NodeIndex node);
  Outcome judged(NodeIndex node, Outcome outcome) const;
  void ask_custodian(NodeIndex node);
  void cancel(NodeIndex node, CancelReason reason);
  void acknowledge(NodeIndex node);
  void keep_leftover(NodeIndex node);
  void keep_output(NodeIndex node, const Outcome& outcome, const std::string& body);
  const NodeRecord& node(NodeIndex index) const { return draft().node(index); }
  const Draft& draft() const { return decision_.draft; }

  const DecideContext& context_;
  RandomSequence random_;
  Decision decision_;
  std::uint32_t slots_freed_ = 0;
};

void Decider::record(Event event) {
  assert(!decision_.draft.objection(event) && "decide() records legal events only");
  const std::uint32_t busy_before = draft().run().slots_busy;
  decision_.draft.apply(event);
  if (draft().run().slots_busy < busy_before && !std::holds_alternative<TermOpened>(event)) {
    slots_freed_ += busy_before - draft().run().slots_busy;
  }
  decision_.events.push_back(std::move(event));
}

void Decider::on(const TermInput& input) {
  record(TermOpened{input.holder});
  // Those before may have crashed between a recorded fact and its word to the executor.
  for (const NodeIndex open : draft().open()) {
    if (const auto reason = node(open).ending) {
      cancel(open, *reason);
    }
  }
  for (const NodeIndex open : draft().open()) {
    ask_custodian(open);
  }
}

/// News of one's own attempts come unasked, unless they are in doubt.
void Decider::on(const TickInput&) {
  for (const NodeIndex open : draft().open()) {
    const NodeRecord& record = node(open);
    if (record.custodian != draft().run().holder || record.absent ||
        record.state == NodeState::unreachable) {
      ask_custodian(open);
    }
  }
}

void Decider::ask_custodian(NodeIndex index) {
  if (!is_external(draft().spec(index))) {
    const NodeRecord& record = node(index);
    decision_.effects.push_back(QueryEffect{index, record.attempt, record.nonce, record.custodian});
  }
}

void Decider::on(const ReportInput& input) {
  const auto found = draft().base().definition().find(input.node);
  if (!found) {
    return;
  }
  const NodeRecord& record = node(*found);
  const bool is_current = record.attempt == input.attempt && record.nonce == input.nonce &&
                          has_open_attempt(record.state) && !is_external(draft().spec(*found));
  if (is_current) {
    std::visit([this, found](const auto& news) { on_news(*found, news); }, input.news);
  } else if (record.had_leftover && confirms_end(input.news)) {
    decision_.confirmed.push_back({*found, input.attempt, input.nonce});
  }
  if (std::holds_alternative<SaysEnded>(input.news)) {
    decision_.effects.push_back(AcknowledgeEffect{*found, input.attempt, input.nonce});
  }
}

void Decider::on_news(NodeIndex index, const SaysRunning&) {
  const NodeRecord& record = node(index);
  if (!record.ran) {
    this->record(AttemptRunning{index, record.attempt});
  } else if (record.state == NodeState::unreachable || record.absent) {
    this->record(AttemptFound{index, record.attempt});
  }
}

void Decider::on_news(NodeIndex index, const SaysEnded& news) {
  keep_output(index, news.outcome, news.output);
  end_attempt(index, news.outcome, true);
}

void Decider::on_news(NodeIndex index, const SaysAlive&) {
  const NodeRecord& record = node(index);
  if (record.state == NodeState::unreachable || record.absent) {
    this->record(AttemptFound{index, record.attempt});
  }
}

void Decider::on_news(NodeIndex index, const SaysAbsent& news) {
  const NodeRecord& record = node(index);
  if (news.proven) {
    acknowledge(index);
    end_attempt(index, {.kind = OutcomeKind::lost, .error = "lost"}, true);
  } else if (!record.absent) {
    this->record(AttemptAbsent{index, record.attempt});
  }
}

void Decider::on_news(NodeIndex index, const SaysUnknown&) {
  const NodeRecord& record = node(index);
  if (record.state != NodeState::unreachable) {
    this->record(AttemptUnreachable{index, record.attempt});
  }
}

void Decider::on(const StopInput& input) {
  if (!draft().is_stopping()) {
    record(StopRequested{input.reason});
  }
}

void Decider::on(const NodeDoneInput& input) {
  const auto found = draft().base().definition().find(input.node);
  if (!found || is_terminal(node(*found).state) || !is_told_from_outside(input.outcome.kind) ||
      input.attempt.value_or(node(*found).attempt) != node(*found).attempt) {
    return;
  }
  if (input.force_reason) {
    const NodeRecord before = node(*found);
    const bool is_cut_off = has_open_attempt(before.state) && !is_external(draft().spec(*found));
    if (is_cut_off) {
      keep_leftover(*found);
    }
    record(NodeForced{*found, input.outcome, *input.force_reason});
    if (is_cut_off) {
      decision_.effects.push_back(
          CancelEffect{*found, before.attempt, before.nonce, CancelReason::stop});
    }
    return;
  }
  if (is_external(draft().spec(*found)) && node(*found).state == NodeState::running) {
    keep_output(*found, input.outcome, input.output);
    end_attempt(*found, input.outcome, true);
  }
}

/// An attempt that was told to end because its time was over ends timed out, in whatever words that
/// is told, unless it succeeded after all.
Outcome Decider::judged(NodeIndex index, Outcome outcome) const {
  const bool gave_in = outcome.kind == OutcomeKind::failed || outcome.kind == OutcomeKind::lost ||
                       outcome.kind == OutcomeKind::stopped ||
                       outcome.kind == OutcomeKind::interrupted;
  if (gave_in && node(index).ending == CancelReason::timeout) {
    outcome.kind = OutcomeKind::timed_out;
  }
  if (outcome.kind == OutcomeKind::timed_out) {
    const auto timeout = draft().spec(index).timeout;
    outcome.error = draft().run().stop_cause == StopCause::timeout || !timeout
                        ? "the run timed out"
                        : "timed out after " + write_duration(*timeout);
  }
  return outcome;
}

void Decider::end_attempt(NodeIndex index, Outcome outcome, bool confirmed) {
  outcome = judged(index, std::move(outcome));
  const NodeRecord& record = node(index);
  const Verdict verdict =
      after_attempt(draft().spec(index).retry, {record.attempts_counted, record.attempts_lost},
                    outcome.kind, !draft().is_stopping(), random_.next());
  AttemptEnded event{.node = index,
                     .attempt = record.attempt,
                     .outcome = std::move(outcome),
                     .next = verdict.next,
                     .confirmed = confirmed};
  if (!confirmed) {
    keep_leftover(index);
  }
  if (verdict.wait) {
    event.retry_at = context_.now + *verdict.wait;
  }
  this->record(std::move(event));
}

/// Deadlines that have passed, of the run first: it stops what is due behind it.
void Decider::end_waits() {
  if (draft().run().timeout_at <= context_.now && !draft().is_stopping()) {
    record(RunTimedOut{});
  }
  for (const NodeIndex due : draft().due()) {
    if (node(due).deadline() <= context_.now) {  // the end of another one may have stopped the run
      end_node_wait(due);
    }
  }
}

void Decider::end_node_wait(NodeIndex index) {
  const NodeRecord before = node(index);
  if (before.state == NodeState::backoff) {
    record(BackoffEnded{index});
    return;
  }
  if (before.due_at <= context_.now && before.ending) {
    end_attempt(index,
                {.kind = OutcomeKind::stopped,
                 .error = "told to end, and its executor never said that it has"},
                false);
    return;
  }
  if (before.due_at <= context_.now && before.absent) {
    cancel(index, CancelReason::lost);
    acknowledge(index);
    end_attempt(index, {.kind = OutcomeKind::lost, .error = "lost"}, false);
    return;
  }
  if (is_external(draft().spec(index))) {
    end_attempt(index, {.kind = OutcomeKind::timed_out}, true);
  } else {
    record(AttemptTimedOut{index, before.attempt});
    cancel(index, CancelReason::timeout);
  }
}

void Decider::keep_output(NodeIndex index, const Outcome& outcome, const std::string& body) {
  if (outcome.kind == OutcomeKind::succeeded && !body.empty()) {
    decision_.outputs.push_back({index, node(index).attempt, body});
  }
}

/// Its attempt is about to be ended, and nobody has said that it has.
void Decider::keep_leftover(NodeIndex index) {
  const NodeRecord& record = node(index);
  decision_.leftovers.push_back({{index, record.attempt, record.nonce},
                                 draft().holder(record.custodian).replica,
                                 context_.now});
}

/// Nobody will report this attempt's end: its executor need not wait for the word that it is known.
void Decider::acknowledge(NodeIndex index) {
  const NodeRecord& record = node(index);
  decision_.effects.push_back(AcknowledgeEffect{index, record.attempt, record.nonce});
}

void Decider::cancel(NodeIndex index, CancelReason reason) {
  const NodeRecord& record = node(index);
  decision_.effects.push_back(CancelEffect{index, record.attempt, record.nonce, reason});
}

/// Submits ready nodes, in their order, while the run's slots last. A wide node that does not fit
/// is not overtaken, or it would never run.
void Decider::fill_slots() {
  Draft& draft = decision_.draft;
  const std::uint32_t kept_free = context_.slots.reuse ? 0 : slots_freed_;
  while (const auto ready = draft.first_ready()) {
    const std::uint64_t busy = std::uint64_t{draft.run().slots_busy} + kept_free;
    if (busy + draft.base().width(*ready) > context_.slots.granted) {
      return;
    }
    const Attempt attempt{node(*ready).attempt.value + 1};
    const Nonce nonce{random_.next()};
    record(AttemptSubmitted{*ready, attempt, nonce});
    decision_.effects.push_back(LaunchEffect{*ready, attempt, nonce});
  }
}

/// If this pass began to stop the run: each open attempt hears of it.
void Decider::tell_those_that_must_end() {
  if (!draft().is_stopping() || draft().base().run().stop_cause != StopCause::none) {
    return;
  }
  for (const NodeIndex open : draft().open()) {
    if (const auto reason = node(open).ending) {
      cancel(open, *reason);
    }
  }
}

void Decider::end_run_if_done() {
  const RunRecord& run = draft().run();
  const auto result = run_result(run.counts, run.stop_cause);
  if (run.begun && result) {
    record(RunEnded{*result});
  }
}

}  // namespace

Decision decide(const PipelineState& state, std::span<const Input> inputs,
                const DecideContext& context) {
  Decider decider{state, context};
  const bool is_over = is_terminal(state.run().state);
  for (const Input& input : inputs) {
    // Executors keep an end until it is acknowledged, whatever became of the run.
    if (!is_over || std::holds_alternative<ReportInput>(input)) {
      decider.take(input);
    }
  }
  if (!is_over) {
    decider.end_waits();
    decider.fill_slots();
    decider.tell_those_that_must_end();
    decider.end_run_if_done();
  }
  return std::move(decider).finish();
}

Decision begin(const PipelineState& fresh, std::optional<ReplicaIdentity> holder, WallTime now,
               std::span<const NodeCarried> carried) {
  Decision decision{.draft = Draft{fresh, now}};
  decision.events.push_back(RunStarted{});
  decision.events.insert(decision.events.end(), carried.begin(), carried.end());
  if (holder) {
    decision.events.push_back(TermOpened{*std::move(holder)});
  }
  for (const Event& event : decision.events) {
    decision.draft.apply(event);
  }
  return decision;
}

std::optional<WallTime> next_due(const Draft& draft, Duration tick) {
  if (is_terminal(draft.run().state)) {
    return std::nullopt;
  }
  const WallTime deadline = draft.next_deadline();
  if (deadline != kNever) {
    return deadline;
  }
  if (draft.run().begun && draft.waits_for_outside_only() && !draft.all_terminal()) {
    return std::nullopt;
  }
  return draft.at() + tick;
}

}  // namespace stagecall
