#include "tests/sim/sim_executor.hpp"

#include "tests/sim/checker.hpp"

#include <algorithm>
#include <stdexcept>

namespace stagecall::sim {
namespace {

constexpr Duration kShort{2'000};
constexpr Duration kLong{40'000};

Outcome outcome_of(CancelReason reason) {
  switch (reason) {
    case CancelReason::stop: return {.kind = OutcomeKind::stopped};
    case CancelReason::timeout: return {.kind = OutcomeKind::timed_out};
    case CancelReason::lost: return {.kind = OutcomeKind::lost};
    case CancelReason::drain: return {.kind = OutcomeKind::interrupted};
  }
  return {};
}

}  // namespace

SimAttempt* AttemptTable::find(const AttemptKey& key) {
  const auto found = attempts_.find(key);
  return found == attempts_.end() ? nullptr : &found->second;
}

void AttemptTable::launcher_gone(const std::string& incarnation) {
  gone_.insert(incarnation);
  for (auto& [key, attempt] : attempts_) {
    if (attempt.launcher != incarnation || !attempt.is_running) {
      continue;
    }
    if (attempt.dies_with_process) {
      attempt.is_running = false;
      continue;
    }
    const BootTime killed_by = universe_.now + universe_.dice.between(Duration{0}, kShort);
    if (attempt.ends_at > killed_by) {
      attempt.ends_at = killed_by;
      attempt.end = {{.kind = OutcomeKind::interrupted}, {}};
    }
  }
}

void AttemptTable::step() {
  for (auto& [key, attempt] : attempts_) {
    if (attempt.is_running && attempt.ends_at <= universe_.now && is_gone(attempt.launcher)) {
      attempt.is_running = false;
      universe_.note("orphan ended " + key.text());
    }
  }
}

void AttemptTable::come_to_rest() {
  is_at_rest_ = true;
  for (auto& [key, attempt] : attempts_) {
    attempt.unknown_until = BootTime{};
    if (attempt.is_running) {
      attempt.ends_at = std::min(
          attempt.ends_at, universe_.now + universe_.dice.between(Duration{1}, Duration{5'000}));
    }
  }
}

void SimExecutor::say(const AttemptKey& key, AttemptNews news) {
  if (is_alive_ && sink_ != nullptr) {
    universe_.note("says " + std::to_string(news.index()) + " " + key.text());
    sink_->report({{key, std::move(news)}});
  }
}

void SimExecutor::submit(std::vector<Launch> launches) {
  if (!is_alive_) {
    return;
  }
  for (const Launch& each : launches) {
    launch(each);
  }
  if (universe_.strikes("executor.throw")) {
    for (const Launch& each : launches) {
      if (SimAttempt* attempt = table_.find(each.key)) {
        attempt->was_refused = true;
      }
    }
    throw std::runtime_error{"simulated: taken, and said to have failed"};
  }
}

void SimExecutor::launch(const Launch& launch) {
  if (universe_.now >= launch.trusted_until) {
    say(launch.key, SaysEnded{{.kind = OutcomeKind::not_launched}, {}});
    return;
  }
  if (cancelled_.contains(launch.key)) {
    say(launch.key, SaysEnded{{.kind = OutcomeKind::stopped}, {}});
    return;
  }
  checker_.launched(launch, incarnation_);
  universe_.note("launch " + launch.key.text() + " term " + std::to_string(launch.term.value));
  SimAttempt& attempt = table_.all()[launch.key];
  attempt = SimAttempt{.launcher = incarnation_, .node = launch.node, .term = launch.term};
  plan(launch, attempt);
}

void SimExecutor::plan(const Launch& launch, SimAttempt& attempt) {
  Dice& dice = universe_.dice;
  attempt.dies_with_process = std::holds_alternative<TaskAction>(launch.node->action);
  attempt.ends_at = universe_.now + dice.between(Duration{0}, kShort);
  if (universe_.strikes("executor.fail")) {
    attempt.end.outcome = {.kind = OutcomeKind::failed, .exit_code = 1, .error = "exit 1"};
  } else if (dice.hits(0.5)) {
    attempt.end.output = "{\"by\":\"" + std::to_string(launch.key.attempt.value) + "\"}";
  }
  if (universe_.strikes("executor.late")) {
    attempt.ends_at = universe_.now + dice.between(kShort, kLong);
  }
  if (!table_.is_at_rest() && universe_.strikes("executor.never")) {
    attempt.ends_at = BootTime::max();
  }
  attempt.is_forgotten = universe_.strikes("executor.forget");
  attempt.ignores_cancel = universe_.strikes("executor.ignore_cancel");
  if (universe_.strikes("executor.unknown")) {
    attempt.unknown_until = universe_.now + dice.between(Duration{1}, kLong);
  }
  if (universe_.strikes("executor.early")) {
    end(launch.key, attempt);
  } else if (dice.hits(0.7)) {
    say(launch.key, SaysRunning{});
  }
}

void SimExecutor::end(const AttemptKey& key, SimAttempt& attempt) {
  attempt.is_running = false;
  attempt.ends_at = std::min(attempt.ends_at, universe_.now);
  if (attempt.is_forgotten) {
    return;
  }
  attempt.is_told = true;
  say(key, attempt.end);
  if (universe_.strikes("executor.twice")) {
    say(key, attempt.end);
  }
}

void SimExecutor::step() {
  for (auto& [key, attempt] : table_.all()) {
    const bool is_due = attempt.ends_at <= universe_.now && !attempt.is_told &&
                        (attempt.is_running || !attempt.is_forgotten);
    if (is_due && attempt.launcher == incarnation_ && !attempt.is_acknowledged) {
      end(key, attempt);
    }
  }
}

void SimExecutor::cancel(std::vector<Cancel> cancels) {
  if (!is_alive_) {
    return;
  }
  for (const Cancel& cancel : cancels) {
    universe_.note("cancel " + cancel.key.text());
    SimAttempt* attempt = table_.find(cancel.key);
    if (attempt == nullptr) {
      cancelled_.insert(cancel.key);
      continue;
    }
    if (!attempt->is_running || (attempt->ignores_cancel && !table_.is_at_rest())) {
      continue;
    }
    const BootTime ends = universe_.now + universe_.dice.between(Duration{0}, cancel.grace);
    if (ends < attempt->ends_at) {
      attempt->ends_at = ends;
      attempt->end = {outcome_of(cancel.reason), {}};
    }
  }
}

AttemptNews SimExecutor::news_of(const AttemptQuery& query) {
  const SimAttempt* attempt = table_.find(query.key);
  if (query.is_own != (query.incarnation == incarnation_) ||
      (!query.is_own && !table_.is_gone(query.incarnation))) {
    universe_.blame("custody", query.key.text() + " is asked for while its launcher lives");
  }
  if (attempt == nullptr || attempt->is_acknowledged || attempt->launcher != query.incarnation) {
    return SaysAbsent{!query.is_own};
  }
  if (!query.is_own && attempt->dies_with_process) {
    return SaysAbsent{true};
  }
  if (universe_.now < attempt->unknown_until) {
    return SaysUnknown{};
  }
  if (attempt->is_forgotten && query.is_own) {
    return SaysAbsent{};
  }
  return attempt->is_running ? AttemptNews{SaysAlive{}} : AttemptNews{attempt->end};
}

void SimExecutor::query(std::vector<AttemptQuery> queries) {
  if (!is_alive_) {
    return;
  }
  for (const AttemptQuery& query : queries) {
    say(query.key, news_of(query));
  }
}

void SimExecutor::acknowledge(std::vector<AttemptKey> keys) {
  if (!is_alive_) {
    return;
  }
  for (const AttemptKey& key : keys) {
    checker_.acknowledged(key);
    SimAttempt* attempt = table_.find(key);
    if (attempt != nullptr && !attempt->is_running) {
      attempt->is_acknowledged = true;
    }
  }
}

}  // namespace stagecall::sim
