// Attempts: retries and their budgets, loss, absence, custody, timeouts, leftovers.
#include "core/retry.hpp"
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

PipelineSpec one(NodeSpec node, RetryPolicy retry = {}, std::optional<Duration> timeout = {}) {
  node.retry = retry;
  node.timeout = timeout;
  return pipeline({std::move(node)});
}

void pass_backoff(Run& run, const std::string& id) {
  REQUIRE(run.state_of(id) == NodeState::backoff);
  run.advance(std::chrono::duration_cast<Duration>(run.record(id).due_at - run.now()));
  run.tick();
}

}  // namespace

TEST_CASE("R9: failed attempts are tried again exactly as max_attempts says") {
  Run run{one(task("a"), {.attempts_max = 3})};
  run.end("a", failed());
  pass_backoff(run, "a");
  run.restart(replica("b"));
  run.end("a", of_kind(OutcomeKind::timed_out));
  pass_backoff(run, "a");
  run.end("a", failed());
  CHECK(run.state_of("a") == NodeState::failed);
  CHECK(run.launches("a") == 3);
  CHECK(run.state().failures().front().attempt == Attempt{3});
  run.prove();
}

TEST_CASE("R9: lost attempts are tried again exactly as max_lost says, over restarts") {
  for (const std::uint32_t lost_max : {0U, 1U, 2U}) {
    Run run{one(task("a"), {.lost_max = lost_max})};
    for (std::uint32_t i = 0; i <= lost_max; ++i) {
      CHECK(run.state_of("a") == NodeState::submitted);
      run.restart(replica("r" + std::to_string(i)));
      run.report("a", SaysAbsent{.proven = true});
    }
    CHECK(run.state_of("a") == NodeState::failed);
    CHECK(run.launches("a") == lost_max + 1);
    CHECK(run.state().failures().front().outcome.error == "lost");
    run.prove();
  }
}

TEST_CASE("R9: the counts of lost and of failed attempts do not mix") {
  Run run{one(task("a"), {.attempts_max = 2, .lost_max = 2})};
  run.end("a", of_kind(OutcomeKind::lost));
  run.end("a", failed());
  pass_backoff(run, "a");
  run.restart(replica("b"));
  run.end("a", of_kind(OutcomeKind::lost));
  CHECK(run.state_of("a") == NodeState::submitted);
  CHECK(run.record("a").attempts_counted == 1);
  CHECK(run.record("a").attempts_lost == 2);
  run.end("a", of_kind(OutcomeKind::lost));
  CHECK(run.state_of("a") == NodeState::failed);
  CHECK(run.launches("a") == 4);
}

TEST_CASE("attempts not launched or interrupted use up nothing") {
  Run run{one(task("a"), {.attempts_max = 1, .lost_max = 0})};
  for (int i = 0; i < 20; ++i) {
    run.end("a", of_kind(i % 2 == 0 ? OutcomeKind::not_launched : OutcomeKind::interrupted));
    REQUIRE(run.state_of("a") == NodeState::submitted);
  }
  CHECK(run.record("a").attempt == Attempt{21});
  CHECK(run.record("a").attempts_counted == 0);
  run.end("a", succeeded());
  CHECK(run.result() == RunState::succeeded);
  run.prove();
}

TEST_CASE("a rejected attempt fails its node for good") {
  Run run{one(task("a"), {.attempts_max = 5})};
  run.end("a", of_kind(OutcomeKind::rejected));
  CHECK(run.state_of("a") == NodeState::failed);
}

TEST_CASE("R21: delays are spaced by the factor, capped, and jittered within their part") {
  struct Row {
    RetryPolicy policy;
    std::uint32_t failures;
    std::uint64_t random;
    std::int64_t milliseconds;
  };
  const auto policy = [](std::int64_t delay, double factor, std::int64_t max, double jitter) {
    return RetryPolicy{
        .delay = Duration{delay}, .factor = factor, .delay_max = Duration{max}, .jitter = jitter};
  };
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const Row rows[] = {
      {policy(1000, 2, 60'000, 0), 1, 7, 1'000},
      {policy(1000, 2, 60'000, 0), 2, 7, 2'000},
      {policy(1000, 2, 60'000, 0), 6, 7, 32'000},
      {policy(1000, 2, 60'000, 0), 7, 7, 60'000},
      {policy(1000, 100, 60'000, 0), 1'000, 7, 60'000},
      {policy(10, 1, 60'000, 0), 5, 7, 10},
      {policy(1000, 2, 60'000, 0.2), 1, 0, 800},
      {policy(1000, 2, 60'000, 0.2), 1, kHalf, 1'000},
      {policy(1000, 2, 60'000, 0.2), 1, kMost, 1'200},
      {policy(1000, 2, 60'000, 1), 1, 0, 1},
      {policy(60'000, 2, 60'000, 1), 3, kMost, 60'000},
      {policy(5'000, 2, 1'000, 0), 1, 7, 1'000},
      {policy(315'360'000'000, 100, 315'360'000'000, 1), 999, kMost, 315'360'000'000},
  };
  for (const Row& row : rows) {
    CAPTURE(row.failures);
    CAPTURE(row.milliseconds);
    CHECK(retry_delay(row.policy, row.failures, row.random) == Duration{row.milliseconds});
  }
}

TEST_CASE("R21: five failures wait what the policy says, and start not before") {
  Run run{one(task("a"), {.attempts_max = 6, .delay = Duration{100}, .delay_max = Duration{500}})};
  for (const int wait : {100, 200, 400, 500, 500}) {
    run.end("a", failed());
    CHECK(run.due() == run.now() + Duration{wait});
    run.advance(Duration{wait - 1});
    run.tick();
    CHECK(run.state_of("a") == NodeState::backoff);
    run.advance(1ms);
    run.tick();
    CHECK(run.state_of("a") == NodeState::submitted);
  }
  run.prove();
}

TEST_CASE("R11: unreachable for six passes: never resubmitted, running again when it returns") {
  Run run{pipeline({task("a")})};
  run.report("a", SaysRunning{});
  run.restart(replica("b"));
  CHECK(run.effects_of<QueryEffect>().size() == 1);
  for (int i = 0; i < 6; ++i) {
    run.report("a", SaysUnknown{});
    CHECK(run.state_of("a") == NodeState::unreachable);
    run.advance(60s);
    run.tick();
    CHECK(run.effects_of<QueryEffect>().size() == 1);
  }
  CHECK(run.launches("a") == 1);
  run.report("a", SaysAlive{});
  CHECK(run.state_of("a") == NodeState::running);
  run.end("a", succeeded());
  CHECK(run.result() == RunState::succeeded);
  run.prove();
}

TEST_CASE("R11: an attempt that its own holder cannot reach is asked for again at each tick") {
  Run run{pipeline({task("a")})};
  run.tick();
  CHECK(run.effects_of<QueryEffect>().empty());
  run.report("a", SaysUnknown{});
  run.tick();
  CHECK(run.effects_of<QueryEffect>().size() == 1);
}

TEST_CASE("R11: a stop works while unreachable, so does a node's timeout") {
  Run stopped{pipeline({task("a")})};
  stopped.report("a", SaysUnknown{});
  stopped.stop();
  CHECK(stopped.effects_of<CancelEffect>().size() == 1);
  stopped.advance(12s);
  stopped.tick();
  CHECK(stopped.result() == RunState::stopped);
  stopped.prove();

  Run late{one(task("a"), {}, Duration{60'000})};
  late.report("a", SaysUnknown{});
  late.advance(60s);
  late.tick();
  CHECK(late.effects_of<CancelEffect>().size() == 1);
  late.advance(12s);
  late.tick();
  CHECK(late.result() == RunState::failed);
  CHECK(late.state().failures().front().outcome.error == "timed out after 1m");
  late.prove();
}

TEST_CASE("coming into sight again neither starts nor extends a timeout") {
  Run run{one(task("a"), {}, Duration{60'000})};
  run.report("a", SaysRunning{});
  run.advance(50s);
  run.report("a", SaysUnknown{});
  run.report("a", SaysRunning{});
  CHECK(run.state_of("a") == NodeState::running);
  CHECK(run.record("a").timeout_at == moment(60'000));
  run.report("a", SaysUnknown{});
  run.report("a", SaysAlive{});
  CHECK(run.record("a").timeout_at == moment(60'000));
  CHECK(run.record("a").since == run.now());
}

TEST_CASE("a queued Slurm job is not taken for running by being found alive") {
  Run run{one(slurm("a"), {}, Duration{60'000})};
  run.report("a", SaysUnknown{});
  run.report("a", SaysAlive{});
  CHECK(run.state_of("a") == NodeState::submitted);
  CHECK(run.record("a").timeout_at == kNever);
  run.advance(10min);
  run.report("a", SaysRunning{});
  CHECK(run.state_of("a") == NodeState::running);
  CHECK(run.record("a").timeout_at == run.now() + 60s);
  run.prove();
}

TEST_CASE("T4: absent is lost when still so lost_after later, the time counts over restarts") {
  Run run{pipeline({task("a")})};
  run.restart(replica("b"));
  run.report("a", SaysAbsent{});
  run.advance(20s);
  run.restart(replica("c"));
  run.report("a", SaysAbsent{});
  CHECK(run.events().empty());
  run.advance(9'999ms);
  run.tick();
  CHECK(run.record("a").attempt == Attempt{1});
  run.advance(1ms);
  run.tick();
  CHECK(run.record("a").attempt == Attempt{2});
  CHECK(run.record("a").attempts_lost == 1);
  const auto cancels = run.effects_of<CancelEffect>();
  REQUIRE(cancels.size() == 1);
  CHECK(cancels.front().reason == CancelReason::lost);
  CHECK(cancels.front().attempt == Attempt{1});
  run.prove();
}

TEST_CASE("an absent attempt that turns up is not lost") {
  const AttemptNews signs[] = {SaysAlive{}, SaysRunning{}, SaysUnknown{}};
  for (const bool ran_before : {true, false}) {
    for (const AttemptNews& sign : signs) {
      Run run{pipeline({task("a")})};
      if (ran_before) {
        run.report("a", SaysRunning{});
      }
      run.restart(replica("b"));
      run.report("a", SaysAbsent{});
      run.report("a", sign);
      run.advance(60s);
      run.tick();
      CHECK(run.record("a").attempt == Attempt{1});
      CHECK(run.record("a").attempts_lost == 0);
      CHECK_FALSE(run.record("a").absent);
      CHECK(run.record("a").due_at == kNever);
      run.prove();
    }
  }
}

TEST_CASE("absence while told to end does not cut the time that it has to end in") {
  PipelineSpec spec = one(task("a"), {.attempts_max = 2}, Duration{1'000});
  spec.nodes[0].grace = 1h;
  Run run{std::move(spec)};
  run.advance(1s);
  run.tick();
  run.report("a", SaysAbsent{});
  run.report("a", SaysAlive{});
  run.advance(59min);
  run.tick();
  CHECK(run.record("a").attempt == Attempt{1});
  CHECK(has_open_attempt(run.state_of("a")));
}

TEST_CASE("R8: a takeover learns what became of each attempt, nothing runs twice") {
  Run run{fan(5)};
  run.end("root", succeeded());
  run.restart(replica("b"));
  CHECK(run.effects_of<QueryEffect>().size() == 5);
  CHECK(run.effects_of<LaunchEffect>().empty());
  for (const QueryEffect& query : run.effects_of<QueryEffect>()) {
    CHECK(run.state().holders().at(query.custodian) == replica("a"));
  }
  run.pass({run.report_of("n0", SaysAlive{}), run.end_of("n1", succeeded()),
            run.report_of("n2", SaysAbsent{.proven = true}), run.end_of("n3", failed()),
            run.end_of("n4", of_kind(OutcomeKind::stopped))});
  CHECK(has_open_attempt(run.state_of("n0")));
  CHECK(run.record("n0").attempt == Attempt{1});
  CHECK(run.state_of("n1") == NodeState::succeeded);
  CHECK(run.record("n2").attempt == Attempt{2});
  CHECK(run.state_of("n3") == NodeState::failed);
  CHECK(run.state_of("n4") == NodeState::stopped);
  CHECK(run.state_of("end") == NodeState::skipped);
  run.pass({run.end_of("n0", succeeded()), run.end_of("n2", succeeded())});
  CHECK(run.result() == RunState::failed);
  run.prove();
}

TEST_CASE("a timed out attempt is told to end, its end counts as timed out however it is told") {
  const AttemptNews ends[] = {
      SaysEnded{of_kind(OutcomeKind::timed_out), {}}, SaysEnded{of_kind(OutcomeKind::stopped), {}},
      SaysEnded{{.kind = OutcomeKind::failed, .signal = 15, .error = "signal 15 (TERM)"}, {}},
      SaysAbsent{.proven = true}};
  for (const AttemptNews& end : ends) {
    Run run{one(task("a"), {.attempts_max = 2}, Duration{30'000})};
    run.report("a", SaysRunning{});
    run.advance(30s);
    run.tick();
    const auto cancels = run.effects_of<CancelEffect>();
    REQUIRE(cancels.size() == 1);
    CHECK(cancels.front().reason == CancelReason::timeout);
    run.report("a", end);
    const auto ended = run.events_of<AttemptEnded>();
    REQUIRE(ended.size() == 1);
    CHECK(ended.front().outcome.kind == OutcomeKind::timed_out);
    CHECK(ended.front().outcome.error == "timed out after 30s");
    CHECK(run.state_of("a") == NodeState::backoff);
    CHECK(run.record("a").attempts_counted == 1);
    run.prove();
  }
}

TEST_CASE("a success that was under way when the timeout fired is a success") {
  Run run{one(task("a"), {}, Duration{30'000})};
  run.advance(30s);
  run.tick();
  run.end("a", succeeded());
  CHECK(run.result() == RunState::succeeded);
}

TEST_CASE("T14: after an attempt that ignores KILL the next waits for lost_after") {
  Run run{one(task("a"), {.attempts_max = 2, .delay = Duration{1}}, Duration{1'000})};
  run.advance(1s);
  run.tick();
  const WallTime told = run.now();
  while (run.record("a").attempt == Attempt{1}) {
    run.advance(1s);
    run.tick();
    REQUIRE(run.now() < told + 2min);
  }
  CHECK(run.now() - told >= 10s + 30s);  // KILL comes after the grace
  REQUIRE(run.leftovers().size() == 1);
  const AttemptMark first = run.leftovers().front().mark;
  CHECK(first.attempt == Attempt{1});
  run.pass({ReportInput{"a", first.attempt, first.nonce, SaysAlive{}}});
  CHECK(run.confirmed().empty());
  run.pass({ReportInput{"a", first.attempt, first.nonce, SaysEnded{}}});
  CHECK(run.confirmed() == std::vector{first});
  run.prove();
}

TEST_CASE("a late end of an attempt given up changes nothing and is acknowledged") {
  Run run{one(task("a"), {.attempts_max = 2}, Duration{1'000})};
  const Input late = run.end_of("a", succeeded());
  run.advance(1s);
  run.tick();
  run.advance(60s);
  run.tick();
  pass_backoff(run, "a");
  run.pass({late});
  CHECK(run.events().empty());
  CHECK(run.effects_of<AcknowledgeEffect>().size() == 1);
  CHECK(run.record("a").attempt == Attempt{2});
}

TEST_CASE("deadlines are at most the whole wait away after a takeover by an earlier clock") {
  PipelineSpec spec =
      pipeline({task("retried"), task("timed"), task("ending"), task("absent"), external("ask")});
  spec.timeout = 1h;
  spec.nodes[0].retry = {.attempts_max = 2, .delay = Duration{5'000}, .delay_max = Duration{9'000}};
  spec.nodes[1].timeout = 20s;
  spec.nodes[2].timeout = 1ms;
  spec.nodes[4].timeout = 40s;
  Run run{std::move(spec)};
  run.advance(1ms);
  run.pass({run.end_of("retried", failed()), run.report_of("absent", SaysAbsent{})});
  run.tick();
  REQUIRE(run.record("ending").ending == CancelReason::timeout);
  run.advance(-24h);
  run.restart(replica("b"));
  const WallTime now = run.now();
  CHECK(run.state().run().timeout_at == now + 1h);
  CHECK(run.record("retried").due_at == now + 9s);
  CHECK(run.record("timed").timeout_at == now + 20s);
  CHECK(run.record("ending").due_at == now + 12s);
  CHECK(run.record("absent").due_at == now + 30s);
  CHECK(run.record("ask").timeout_at == now + 40s);
  run.prove();
}

TEST_CASE("a holder that comes back counts its own attempts' slots") {
  Run run{fan(4), {.slots = 2}};
  run.end("root", succeeded());
  CHECK(run.state().run().slots_busy == 2);
  run.restart(replica("b"));
  CHECK(run.state().run().slots_busy == 2);  // b's own: a's two are a's
  CHECK(run.count(NodeState::submitted) == 4);
  run.restart(replica("a"));
  CHECK(run.state().run().slots_busy == 2);
  CHECK(run.effects_of<QueryEffect>().size() == 4);  // a launch of its own may have been cut off
  run.tick();
  CHECK(run.effects_of<QueryEffect>().size() == 2);
  run.pass({run.end_of("n0", succeeded()), run.end_of("n2", succeeded())});
  CHECK(run.state().run().slots_busy == 1);
  run.prove();
}

TEST_CASE("a run's next look is its earliest deadline, a tick, or never") {
  Run deadline{one(task("a"), {}, Duration{30'000})};
  CHECK(deadline.due() == moment(30'000));
  Run no_deadline{pipeline({task("a")})};
  CHECK(no_deadline.due() == moment(5'000));
  Run outside{pipeline({external("a"), task("b", {"a"})})};
  CHECK_FALSE(outside.due());
  Run both{pipeline({external("a"), task("b")})};
  CHECK(both.due() == moment(5'000));
}

TEST_CASE("T14: a node forced while its attempt runs leaves that attempt over") {
  Run run{pipeline({task("a")})};
  run.pass({NodeDoneInput{.node = "a", .outcome = {}, .force_reason = "by hand"}});
  CHECK(run.state_of("a") == NodeState::succeeded);
  REQUIRE(run.leftovers().size() == 1);
  CHECK(run.leftovers().front().mark.attempt == Attempt{1});
  run.prove();
}

TEST_CASE("a repeated report of an attempt that ended in order writes nothing") {
  Run run{one(task("a"), {.attempts_max = 2, .delay = Duration{1}})};
  const Nonce nonce = run.record("a").nonce;
  run.end("a", {.kind = OutcomeKind::failed, .error = "exit 1"});
  run.pass({ReportInput{"a", Attempt{1}, nonce, SaysEnded{}}});
  CHECK(run.confirmed().empty());
  CHECK(run.leftovers().empty());
}

TEST_CASE("R7: the first progress makes a submitted attempt running, once") {
  Run run{pipeline({task("a")})};
  REQUIRE(run.state_of("a") == NodeState::submitted);
  run.report("a", SaysProgress{0.5});
  CHECK(run.state_of("a") == NodeState::running);
  CHECK(run.events() == std::vector<Event>{AttemptRunning{run.index("a"), Attempt{1}}});
  run.report("a", SaysProgress{0.25});
  run.report("a", SaysRunning{});
  CHECK(run.events().empty());
  CHECK(run.history().size() == 3);  // start, submission, running
  run.prove();
}

}  // namespace stagecall::testing
