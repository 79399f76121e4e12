// Each kind of damage to a history is found, by the name of the rule that it breaks.
#include "core/history_check.hpp"

#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecall::testing {
namespace {

/// A history with a retry, a loss, a takeover and a failure; term 1 writes passes 1 to 4.
Run lived() {
  PipelineSpec spec = pipeline({task("a"), task("b"), task("c", {"a", "b"}), external("d", {"a"})});
  spec.nodes[0].retry = {.attempts_max = 2, .delay = Duration{1'000}};
  Run run{std::move(spec)};
  run.report("a", SaysRunning{});
  run.end("a", failed());
  run.restart(replica("b"));
  run.report("b", SaysAbsent{.proven = true});
  run.advance(1s);
  run.tick();
  run.pass({run.end_of("a", succeeded()), run.end_of("b", succeeded())});
  run.done("d", succeeded());
  run.end("c", failed());
  return run;
}

using Passes = std::vector<Pass>;

std::vector<std::string> rules_broken(const Run& run, const Passes& passes) {
  HistoryCheck check{run.definition()};
  for (const Pass& pass : passes) {
    check.take(pass);
  }
  std::vector<std::string> rules;
  for (const Violation& violation : check.violations()) {
    CHECK_FALSE(violation.text.empty());
    rules.push_back(violation.rule);
  }
  CHECK(
      (rules.empty() || rules.front() == "nonce" || rules.front() == "term" || !check.is_whole()));
  return rules;
}

template <class T>
Pass& pass_with(Passes& passes) {
  return *std::find_if(passes.begin(), passes.end(), [](const Pass& pass) {
    return std::any_of(pass.events.begin(), pass.events.end(),
                       [](const Event& event) { return std::holds_alternative<T>(event); });
  });
}

template <class T>
T& first(Passes& passes) {
  for (Event& event : pass_with<T>(passes).events) {
    if (T* wanted = std::get_if<T>(&event)) {
      return *wanted;
    }
  }
  throw std::logic_error("no such event");
}

template <class T>
void erase_first(Passes& passes) {
  std::vector<Event>& events = pass_with<T>(passes).events;
  events.erase(std::find_if(events.begin(), events.end(),
                            [](const Event& event) { return std::holds_alternative<T>(event); }));
}

const std::vector<std::string> kSeq{"seq"};
const std::vector<std::string> kTerm{"term"};
const std::vector<std::string> kEvent{"event"};
const std::vector<std::string> kNonce{"nonce"};

}  // namespace

TEST_CASE("a clean history breaks no rule and folds to the run as it was") {
  const Run run = lived();
  REQUIRE(run.result() == RunState::failed);
  HistoryCheck check{run.definition()};
  std::uint64_t events = 0;
  for (const Pass& pass : run.history()) {
    check.take(pass);
    events += pass.events.size();
  }
  CHECK(check.violations().empty());
  CHECK(check.is_whole());
  CHECK(check.events() == events);
  CHECK(difference(check.state(), run.state()) == "");
}

TEST_CASE("a deleted pass is found, whichever it is, but for the last") {
  const Run run = lived();
  for (std::size_t i = 0; i + 1 < run.history().size(); ++i) {
    Passes passes = run.history();
    passes.erase(passes.begin() + static_cast<std::ptrdiff_t>(i));
    CAPTURE(i);
    const auto rules = rules_broken(run, passes);
    CHECK(std::count(rules.begin(), rules.end(), "seq") == 1);
  }
}

TEST_CASE("a pass that is not legal changes nothing of the state that it was offered to") {
  const Run run = lived();
  Pass damaged = run.history()[1];
  damaged.events.push_back(RunStarted{});
  PipelineState state{run.definition()};
  REQUIRE_FALSE(state.try_apply(run.history()[0]));
  PipelineState before{run.definition()};
  before.apply(run.history()[0]);
  CHECK(state.try_apply(damaged) == "the run starts a second time");
  CHECK(difference(state, before) == "");
  CHECK_FALSE(state.try_apply(run.history()[1]));
}

TEST_CASE("a repeated and an exchanged pass are found") {
  const Run run = lived();
  Passes repeated = run.history();
  repeated.insert(repeated.begin() + 2, repeated[2]);
  CHECK(rules_broken(run, repeated) == kSeq);
  Passes exchanged = run.history();
  std::swap(exchanged[2], exchanged[3]);
  CHECK(rules_broken(run, exchanged).front() == "seq");
}

TEST_CASE("changed numbers are found") {
  const Run run = lived();
  Passes attempt = run.history();
  first<AttemptSubmitted>(attempt).attempt.value += 1;
  CHECK(rules_broken(run, attempt) == kEvent);
  Passes ended = run.history();
  first<AttemptEnded>(ended).attempt.value += 1;
  CHECK(rules_broken(run, ended) == kEvent);
  Passes node = run.history();
  first<AttemptEnded>(node).node.value = 4'000'000;
  CHECK(rules_broken(run, node) == kEvent);
  Passes nonce = run.history();
  first<AttemptSubmitted>(nonce).nonce = std::get<AttemptSubmitted>(nonce[1].events.back()).nonce;
  CHECK(rules_broken(run, nonce) == kNonce);
}

TEST_CASE("terms: lowered, raised without being opened, opened twice, opened by nobody") {
  const Run run = lived();
  Passes lowered = run.history();
  lowered.back().term.value -= 1;
  CHECK(rules_broken(run, lowered) == kTerm);
  Passes raised = run.history();
  raised.back().term.value += 1;
  CHECK(rules_broken(run, raised) == kTerm);
  Passes twice = run.history();
  twice.back().events.insert(twice.back().events.begin(), TermOpened{replica("z")});
  CHECK(rules_broken(run, twice).front() == "term");
  Passes nobody = run.history();
  erase_first<TermOpened>(nobody);
  CHECK(rules_broken(run, nobody) == std::vector<std::string>{"term", "event"});
}

TEST_CASE("an event removed inside a pass is found where others rest on it") {
  const Run run = lived();
  Passes start = run.history();
  erase_first<RunStarted>(start);
  CHECK(rules_broken(run, start) == kEvent);
  Passes submitted = run.history();
  erase_first<AttemptSubmitted>(submitted);
  CHECK(rules_broken(run, submitted) == kEvent);
  Passes ended = run.history();
  erase_first<AttemptEnded>(ended);
  CHECK(rules_broken(run, ended) == kEvent);
  Passes backoff = run.history();
  erase_first<BackoffEnded>(backoff);
  CHECK(rules_broken(run, backoff) == kEvent);
}

TEST_CASE("an event that does not belong is found") {
  const Run run = lived();
  const Event odd[] = {
      RunStarted{},
      RunEnded{RunState::succeeded},
      BackoffEnded{NodeIndex{1}},
      AttemptSubmitted{NodeIndex{2}, Attempt{1}, Nonce{1}},
      AttemptRunning{NodeIndex{0}, Attempt{2}},
      AttemptFound{NodeIndex{9}, Attempt{1}},
      AttemptEnded{
          .node = NodeIndex{1}, .attempt = Attempt{1}, .outcome = failed(), .next = Next::backoff},
      AttemptEnded{.node = NodeIndex{1},
                   .attempt = Attempt{1},
                   .outcome = succeeded(),
                   .retry_at = moment(1)}};
  for (const Event& event : odd) {
    CAPTURE(event.index());
    Passes passes = run.history();
    passes[1].events.push_back(event);
    CHECK(rules_broken(run, passes) == kEvent);
  }
  Passes twice = run.history();
  twice.back().events.insert(twice.back().events.begin(), twice.back().events.front());
  CHECK(rules_broken(run, twice) == kEvent);
  Passes after = run.history();
  after.push_back({Seq{after.size() + 1}, after.back().term, run.now(), {StopRequested{"late"}}});
  CHECK(rules_broken(run, after) == kEvent);
}

TEST_CASE("a stopped run takes no second stop and gives no attempt a successor") {
  Run run{chain(2)};
  run.stop();
  Passes again = run.history();
  again.back().events.push_back(StopRequested{"again"});
  CHECK(rules_broken(run, again) == kEvent);
  for (const Next next : {Next::again, Next::backoff}) {
    Passes retried = run.history();
    AttemptEnded ended{.node = NodeIndex{0}, .attempt = Attempt{1}, .outcome = failed()};
    ended.next = next;
    if (next == Next::backoff) {
      ended.retry_at = moment(1'000);
    }
    retried.back().events.push_back(ended);
    CHECK(rules_broken(run, retried) == kEvent);
  }
}

TEST_CASE("no executor's news belong to an external node") {
  Run run{pipeline({external("ask")})};
  const NodeIndex ask{0};
  const Event odd[] = {AttemptRunning{ask, Attempt{1}},
                       AttemptAbsent{ask, Attempt{1}},
                       AttemptUnreachable{ask, Attempt{1}},
                       AttemptFound{ask, Attempt{1}},
                       AttemptTimedOut{ask, Attempt{1}},
                       AttemptEnded{.node = ask,
                                    .attempt = Attempt{1},
                                    .outcome = of_kind(OutcomeKind::lost),
                                    .next = Next::again}};
  for (const Event& event : odd) {
    CAPTURE(event.index());
    Passes passes = run.history();
    passes.back().events.push_back(event);
    CHECK(rules_broken(run, passes) == kEvent);
  }
}

}  // namespace stagecall::testing
