// Draft::objection: what makes an event illegal. The rules of a history, for verify and assertions.
#include "core/draft.hpp"
#include "core/run_result.hpp"

namespace stagecall {
namespace {

std::string named(const Draft& draft, NodeIndex node) {
  return '"' + draft.spec(node).id + '"';
}

/// Reads one event after the other against a draft; says what is wrong with it.
struct Objector {
  const Draft& draft;
  using Answer = std::optional<std::string>;

  Answer operator()(const RunStarted&) const {
    return draft.run().begun ? Answer{"the run starts a second time"} : std::nullopt;
  }

  Answer operator()(const TermOpened&) const { return in_life(); }

  Answer operator()(const AttemptSubmitted& event) const {
    if (const auto answer = in_bounds(event.node)) {
      return answer;
    }
    const NodeRecord& record = draft.node(event.node);
    if (record.state != NodeState::ready) {
      return "node " + named(draft, event.node) + " is submitted while " +
             std::string{name_of(record.state)};
    }
    if (event.attempt.value != record.attempt.value + 1) {
      return "node " + named(draft, event.node) + " is submitted as attempt " +
             std::to_string(event.attempt.value) + " after attempt " +
             std::to_string(record.attempt.value);
    }
    if (draft.base().holders().empty() && draft.holders_added().empty()) {
      return "node " + named(draft, event.node) + " is submitted by nobody: no term was opened";
    }
    return std::nullopt;
  }

  Answer operator()(const AttemptRunning& event) const {
    return on_executors(event.node, event.attempt, NodeSignal::run);
  }
  Answer operator()(const AttemptAbsent& event) const {
    if (const auto answer = on_executors(event.node, event.attempt, std::nullopt)) {
      return answer;
    }
    return draft.node(event.node).absent
               ? Answer{"node " + named(draft, event.node) + " is absent a second time"}
               : std::nullopt;
  }
  Answer operator()(const AttemptUnreachable& event) const {
    return on_executors(event.node, event.attempt, NodeSignal::lose_sight);
  }
  Answer operator()(const AttemptFound& event) const {
    if (const auto answer = on_executors(event.node, event.attempt, std::nullopt)) {
      return answer;
    }
    const NodeRecord& record = draft.node(event.node);
    return record.state == NodeState::unreachable || record.absent
               ? std::nullopt
               : Answer{"node " + named(draft, event.node) + " is found without being missed"};
  }
  Answer operator()(const AttemptTimedOut& event) const {
    return on_executors(event.node, event.attempt, std::nullopt);
  }

  Answer operator()(const AttemptEnded& event) const {
    if (draft.is_stopping() && event.next != Next::finish) {
      return "node " + std::to_string(event.node.value) + " is to run again in a stopped run";
    }
    if ((event.next == Next::backoff) != event.retry_at.has_value()) {
      return "the end of an attempt of node " + std::to_string(event.node.value) +
             " has a moment for the next one exactly if it waits for it";
    }
    switch (event.next) {
      case Next::finish:
        return on_attempt(event.node, event.attempt,
                          final_signal(event.outcome.kind, draft.is_stopping()));
      case Next::backoff: return on_attempt(event.node, event.attempt, NodeSignal::back_off);
      case Next::again: return on_executors(event.node, event.attempt, NodeSignal::again);
    }
    return std::nullopt;
  }

  Answer operator()(const BackoffEnded& event) const {
    if (const auto answer = in_bounds(event.node)) {
      return answer;
    }
    return draft.node(event.node).state == NodeState::backoff
               ? std::nullopt
               : Answer{"node " + named(draft, event.node) + " ends a wait that it was not in"};
  }

  Answer operator()(const NodeForced& event) const {
    if (const auto answer = in_bounds(event.node)) {
      return answer;
    }
    const NodeSignal signal = final_signal(event.outcome.kind, draft.is_stopping());
    return legal(event.node, signal);
  }

  Answer operator()(const StopRequested&) const { return in_running_life(); }
  Answer operator()(const RunTimedOut&) const { return in_running_life(); }

  Answer operator()(const NodeCarried& event) const {
    if (const auto answer = in_bounds(event.node)) {
      return answer;
    }
    const NodeRecord& record = draft.node(event.node);
    if (draft.base().run().begun || record.carried.value > 0 || record.nonce.value > 0) {
      return "node " + named(draft, event.node) + " is carried too late, or a second time";
    }
    if (!event.has_succeeded) {
      return event.attempt.value > 0
                 ? std::nullopt
                 : Answer{"node " + named(draft, event.node) + " is carried for nothing"};
    }
    if (record.waiting > 0 || record.unsuccessful > 0) {
      return "node " + named(draft, event.node) + " is carried, but not all before it";
    }
    return legal(event.node, NodeSignal::succeed);
  }

  Answer operator()(const RunEnded& event) const {
    if (const auto answer = in_life()) {
      return answer;
    }
    const auto result = run_result(draft.run().counts, draft.run().stop_cause);
    if (!result) {
      return "the run ends while nodes are open";
    }
    return *result == event.result
               ? std::nullopt
               : Answer{"the run ends " + std::string{name_of(event.result)} +
                        ", but its nodes make it " + std::string{name_of(*result)}};
  }

 private:
  Answer in_life() const {
    if (!draft.run().begun) {
      return "an event before the start of the run";
    }
    return is_terminal(draft.run().state) ? Answer{"an event after the end of the run"}
                                          : std::nullopt;
  }

  Answer in_running_life() const {
    if (const auto answer = in_life()) {
      return answer;
    }
    return draft.is_stopping() ? Answer{"the run is stopped a second time"} : std::nullopt;
  }

  Answer in_bounds(NodeIndex node) const {
    if (const auto answer = in_life()) {
      return answer;
    }
    return node.value < draft.base().size()
               ? std::nullopt
               : Answer{"no node has the index " + std::to_string(node.value)};
  }

  Answer legal(NodeIndex node, NodeSignal signal) const {
    const NodeState state = draft.node(node).state;
    if (next_state(state, signal)) {
      return std::nullopt;
    }
    return "node " + named(draft, node) + " is " + std::string{name_of(state)} +
           ", which does not go with \"" + std::string{name_of(signal)} + '"';
  }

  Answer on_attempt(NodeIndex node, Attempt attempt, std::optional<NodeSignal> signal) const {
    if (const auto answer = in_bounds(node)) {
      return answer;
    }
    const NodeRecord& record = draft.node(node);
    if (attempt != record.attempt || !has_open_attempt(record.state)) {
      return "node " + named(draft, node) + " has no open attempt " + std::to_string(attempt.value);
    }
    return signal ? legal(node, *signal) : std::nullopt;
  }

  /// As on_attempt, for what only an executor has: external nodes have none.
  Answer on_executors(NodeIndex node, Attempt attempt, std::optional<NodeSignal> signal) const {
    if (const auto answer = on_attempt(node, attempt, signal)) {
      return answer;
    }
    return is_external(draft.spec(node))
               ? Answer{"node " + named(draft, node) + " is external: no executor has it"}
               : std::nullopt;
  }
};

}  // namespace

std::optional<std::string> Draft::objection(const Event& event) const {
  return std::visit(Objector{*this}, event);
}

}  // namespace stagecall
