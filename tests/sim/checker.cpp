#include "tests/sim/checker.hpp"

#include "core/invariants.hpp"
#include "formats/pipeline_file.hpp"
#include "tests/sim/sim_executor.hpp"
#include "tests/sim/sim_leases.hpp"

#include <algorithm>

namespace stagecall::sim {
namespace {

constexpr std::size_t kAll = 1'000'000;

/// By value: a loop over part of a temporary would outlive it.
template <class T>
T value_of(Result<T> result) {
  return std::move(result).value();
}

const RunId* run_of(const Write& write) {
  if (const auto* append = std::get_if<AppendPass>(&write)) {
    return &append->run;
  }
  if (const auto* open = std::get_if<OpenTerm>(&write)) {
    return &open->run;
  }
  return nullptr;
}

}  // namespace

// ---- Commits ----

void Checker::before_commit(const std::vector<Write>& batch) {
  inbox_before_.clear();
  for (const Write& write : batch) {
    const auto* append = std::get_if<AppendPass>(&write);
    if (append == nullptr || append->consumed.empty()) {
      continue;
    }
    for (const InboxRow& row : value_of(truth_.inbox(append->run, kAll))) {
      inbox_before_[append->run].emplace(row.id, row.message);
    }
  }
}

void Checker::committed(const Write& write, const Result<Reply>& reply) {
  if (!reply) {
    return;
  }
  if (const auto* append = std::get_if<AppendPass>(&write)) {
    ++passes_;
    check_consumed(*append);
    follow(append->run);
    check_effects_of_inbox(*append);
  } else if (const auto* started = std::get_if<RunStartedReply>(&*reply)) {
    follow(started->row.run);
  } else if (const RunId* run = run_of(write)) {
    follow(*run);
  }
}

void Checker::follow(const RunId& run) {
  const RunRow row = value_of(truth_.run(run));
  auto& watched = runs_[run];
  if (!watched) {
    watched = std::make_unique<Watched>(
        value_of(read_pipeline(value_of(truth_.definition(row.definition)), {})));
  }
  for (const StoredPass& stored : value_of(truth_.history(run, watched->seen))) {
    take(run, *watched, stored);
  }
  check_row(row, *watched);
}

void Checker::take(const RunId& run, Watched& watched, const StoredPass& stored) {
  const PipelineState& state = watched.check.state();
  if (is_terminal(state.run().state)) {
    universe_.blame("terminal", "a pass follows the end of a run");
  }
  watched.check.take(stored.pass);
  watched.seen = stored.pass.seq;
  const auto& violations = watched.check.violations();
  if (violations.size() > watched.blamed) {
    universe_.blame("history." + violations.back().rule, violations.back().text);
    watched.blamed = violations.size();
  }
  for (const Event& event : stored.pass.events) {
    universe_.note("event " + run.text() + " " + std::string{kind_of(event)});
    if (const auto* submitted = std::get_if<AttemptSubmitted>(&event)) {
      watched.nonces[{submitted->node, submitted->attempt}] = submitted->nonce;
    } else if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
      const auto nonce = watched.nonces.find({ended->node, ended->attempt});
      if (nonce != watched.nonces.end()) {  // else somebody outside ended an external node
        check_end({run, state.spec(ended->node).id, ended->attempt, nonce->second}, *ended);
      }
    }
  }
}

/// What the row says must be what its history folds to.
void Checker::check_row(const RunRow& row, Watched& watched) {
  const PipelineState& state = watched.check.state();
  const std::string name = row.run.text() + ": ";
  if (row.summary.state != state.run().state || row.summary.nodes != state.run().counts) {
    universe_.blame("fold", name + "its row differs from the fold of its history");
  }
  if (const auto broken = broken_invariants(state); !broken.empty()) {
    universe_.blame("invariant", name + broken.front());
  }
  if (is_terminal(watched.summary.state) && row.summary != watched.summary) {
    universe_.blame("terminal", name + "its row changes after its end");
  }
  watched.summary = row.summary;
  watched.owner = row.owner;
  check_wake_up(row, state);
}

/// A live run has a dated wake-up, or nothing but the world outside can change it.
void Checker::check_wake_up(const RunRow& row, const PipelineState& state) {
  if (is_terminal(row.summary.state)) {
    return;
  }
  WallTime earliest = state.run().timeout_at;
  bool waits_here = false;
  for (std::uint32_t i = 0; i < state.size(); ++i) {
    const NodeRecord& node = state.node(NodeIndex{i});
    earliest = std::min(earliest, node.deadline());
    const bool is_outside = is_external(state.spec(NodeIndex{i})) && has_open_attempt(node.state);
    waits_here =
        waits_here || (!is_terminal(node.state) && node.state != NodeState::blocked && !is_outside);
  }
  if (!row.summary.due_at && (waits_here || earliest != kNever)) {
    universe_.blame("wake_up", row.run.text() + ": nothing wakes it though it does not only wait");
  }
  if (row.summary.due_at && earliest != kNever && *row.summary.due_at > earliest) {
    universe_.blame("wake_up", row.run.text() + ": is woken after its earliest deadline");
  }
}

// ---- Inbox ----

void Checker::check_consumed(const AppendPass& append) {
  const auto& before = inbox_before_[append.run];
  auto& watched = *runs_.at(append.run);
  for (const std::int64_t id : append.consumed) {
    // After an unknown outcome a commit that appended nothing cannot be told from none: the row,
    // which changed nothing, is then consumed again, and changes nothing again.
    if (append.events.empty()) {
      watched.consumed_in_vain.insert(id);
    }
    const bool may_repeat = watched.consumed_in_vain.contains(id);
    if (!may_repeat && (!watched.consumed.insert(id).second || !before.contains(id))) {
      universe_.blame("inbox", append.run.text() + ": row " + std::to_string(id) +
                                   " is consumed a second time");
    }
  }
}

/// What was consumed has had its effect in the same transaction.
void Checker::check_effects_of_inbox(const AppendPass& append) {
  const auto& before = inbox_before_[append.run];
  const PipelineState& state = this->state(append.run);
  for (const std::int64_t id : append.consumed) {
    const auto row = before.find(id);
    if (row == before.end()) {
      continue;
    }
    if (std::holds_alternative<StopInput>(row->second) &&
        state.run().stop_cause == StopCause::none && !is_terminal(state.run().state)) {
      universe_.blame("inbox", append.run.text() + ": a stop is consumed and nothing stops");
    }
    const auto* report = std::get_if<ReportInput>(&row->second);
    if (report != nullptr && std::holds_alternative<SaysEnded>(report->news) &&
        is_open({append.run, report->node, report->attempt, report->nonce})) {
      universe_.blame("inbox", append.run.text() + ": the end of an attempt of " + report->node +
                                   " is consumed and not recorded");
    }
  }
}

// ---- Attempts ----

void Checker::check_end(const AttemptKey& key, const AttemptEnded& ended) {
  if (!ended.confirmed) {
    return;
  }
  const SimAttempt* attempt = attempts_.find(key);
  confirmed_.insert(key.nonce.value);
  if (ended.outcome.kind == OutcomeKind::not_launched) {
    unlaunched_.insert(key.nonce.value);
    if (attempt != nullptr) {
      universe_.blame("not_launched", key.text() + " was launched and is recorded as never");
    }
  } else if (attempt != nullptr && attempt->is_running && !attempt->was_refused) {
    universe_.blame("confirmed", key.text() + " is recorded as ended for certain and runs");
  }
  const bool has_succeeded = ended.outcome.kind == OutcomeKind::succeeded;
  if (has_succeeded &&
      (attempt == nullptr || attempt->end.outcome.kind != OutcomeKind::succeeded)) {
    universe_.blame("outcome", key.text() + " is recorded as succeeded and did not succeed");
  }
}

void Checker::launched(const Launch& launch, const std::string& incarnation) {
  const std::string name = launch.key.text();
  if (attempts_.find(launch.key) != nullptr) {
    universe_.blame("twice", name + " is launched a second time");
  }
  if (unlaunched_.contains(launch.key.nonce.value) || confirmed_.contains(launch.key.nonce.value)) {
    universe_.blame("late_launch", name + " is launched after its end was recorded");
  }
  const auto watched = runs_.find(launch.key.run);
  if (watched == runs_.end()) {
    universe_.blame("unrecorded", name + " is launched and its run is not recorded");
    return;
  }
  const PipelineState& state = watched->second->check.state();
  const auto node = state.definition().find(launch.key.node);
  if (!node || state.node(*node).attempt < launch.key.attempt) {
    universe_.blame("unrecorded", name + " is launched and not recorded");
    return;
  }
  if (is_terminal(state.run().state)) {
    universe_.note("launched after the end of its run: " + name);
  }
  check_trust(launch, incarnation);
  check_slots(launch, incarnation);
}

void Checker::check_trust(const Launch& launch, const std::string& incarnation) {
  const RunId& run = launch.key.run;
  const BootTime kept = leases_.kept_until(incarnation, run);
  if (leases_.was_forgotten(run) || kept == BootTime{}) {
    return;  // no lease, or one given back, says nothing of what was recorded under it
  }
  if (launch.trusted_until > kept) {
    universe_.blame("trust", launch.key.text() + " is launched on trust that was not granted");
  }
  if (universe_.now < kept && state(run).run().term > launch.term) {
    universe_.blame("stale_term", launch.key.text() + " is launched under a term that is over");
  }
}

/// Open attempts of the runs that are held here take slots. Those that stayed behind when a run was
/// let go do not any more, so what may make a holder let go is left out.
void Checker::check_slots(const Launch& launch, const std::string& incarnation) {
  for (const std::string kind : {"lease.", "store.", "actor.", "replica.", "act."}) {
    if (universe_.was_struck_by(kind)) {
      return;
    }
  }
  std::uint32_t busy = std::min(launch.node->slots, slots_);
  for (const auto& [key, attempt] : attempts_.all()) {
    const bool is_here = attempt.launcher == incarnation && attempt.is_running && is_open(key);
    if (is_here && key != launch.key) {
      busy += std::min(attempt.node->slots, slots_);
    }
  }
  if (busy > slots_) {
    universe_.blame("slots", launch.key.text() + " is launched: " + std::to_string(busy) + " of " +
                                 std::to_string(slots_) + " slots are busy");
  }
}

bool Checker::is_open(const AttemptKey& key) const {
  const auto watched = runs_.find(key.run);
  if (watched == runs_.end()) {
    return false;
  }
  const PipelineState& state = watched->second->check.state();
  const auto node = state.definition().find(key.node);
  return node && state.node(*node).attempt == key.attempt && state.node(*node).nonce == key.nonce &&
         has_open_attempt(state.node(*node).state);
}

bool Checker::is_waited_for(const AttemptKey& key) const {
  const auto node = is_open(key) ? state(key.run).definition().find(key.node) : std::nullopt;
  return node && !state(key.run).node(*node).absent;
}

bool Checker::waits_in_inbox(const AttemptKey& key) {
  const auto rows = truth_.inbox(key.run, kAll);
  return std::any_of(rows->begin(), rows->end(), [&](const InboxRow& row) {
    const auto* report = std::get_if<ReportInput>(&row.message);
    return report != nullptr && report->node == key.node && report->nonce == key.nonce;
  });
}

/// An executor may forget an end only when it is durable.
void Checker::acknowledged(const AttemptKey& key) {
  if (is_open(key) && !waits_in_inbox(key)) {
    universe_.blame("report_lost", key.text() + " may be forgotten and its end is not recorded");
  }
}

// ---- All ----

bool Checker::all_ended() const {
  return live() == 0;
}

std::size_t Checker::live() const {
  return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), [](const auto& run) {
    return !is_terminal(run.second->check.state().run().state);
  }));
}

std::vector<RunId> Checker::runs() const {
  std::vector<RunId> ids;
  for (const auto& [run, watched] : runs_) {
    ids.push_back(run);
  }
  return ids;
}

void Checker::at_the_end() {
  for (const RunRow& row : value_of(truth_.runs())) {
    HistoryCheck whole{runs_.at(row.run)->check.state().shared_definition()};
    for (const StoredPass& stored : value_of(truth_.history(row.run, Seq{0}))) {
      whole.take(stored.pass);
    }
    if (!whole.violations().empty() || whole.state().run().counts != row.summary.nodes) {
      universe_.blame("fold", row.run.text() + ": its whole history does not fold to its row");
    }
  }
  if (!value_of(truth_.runs_with_inbox()).empty()) {
    universe_.blame("inbox", "rows are left of runs that have ended");
  }
  for (const auto& [key, attempt] : attempts_.all()) {
    if (attempt.is_told && !attempt.is_acknowledged && !attempts_.is_gone(attempt.launcher)) {
      universe_.blame("report_kept", key.text() + " has ended and its executor waits for the word");
    }
  }
}

}  // namespace stagecall::sim
