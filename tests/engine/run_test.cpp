#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>

namespace stagecall::testing {

TEST_CASE_FIXTURE(EngineFixture, "tasks run in order and get what their dependencies left") {
  Engine engine = open();
  value(engine.register_task(
      "leave", [](TaskContext& task) { value(task.output("\"by " + task.key().node + "\"")); }));
  std::map<std::string, std::string> seen;
  value(engine.register_task("see", [&seen](TaskContext& task) {
    seen = value(task.inputs());
    value(task.output(task.params()));
  }));
  Pipeline pipeline{"p"};
  pipeline.task("a", "leave");
  pipeline.task("b", "leave");
  pipeline.join("nothing");
  pipeline.task("c", "see").after({"a", "b", "nothing"}).params(R"({"day":1})");
  const RunId run = value(engine.start(pipeline));
  CHECK(end_of(engine, run) == RunState::succeeded);
  CHECK(seen == std::map<std::string, std::string>{{"a", "\"by a\""}, {"b", "\"by b\""}});
  CHECK(value(engine.output(run, "c")) == R"({"day":1})");
  CHECK_FALSE(value(engine.output(run, "nothing")).has_value());
  CHECK(code_of(engine.output(run, "d")) == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(EngineFixture,
                  "an exception or a fail ends the attempt as failed, with its text") {
  Engine engine = open();
  value(
      engine.register_task("throw", [](TaskContext&) { throw std::runtime_error{"no network"}; }));
  value(engine.register_task("fail", [](TaskContext& task) { task.fail("no disk"); }));
  Pipeline pipeline{"p"};
  pipeline.task("a", "throw").retry({.attempts_max = 2, .delay = 1ms});
  pipeline.task("b", "fail");
  const RunStatus status = value(engine.wait(value(engine.start(pipeline)), 60s));
  CHECK(status.state == RunState::failed);
  std::map<std::string, FailedNode> failed;
  for (const FailedNode& node : status.failed) {
    failed[node.node] = node;
  }
  REQUIRE(failed.size() == 2);
  CHECK(failed["a"].attempt == Attempt{2});
  CHECK(failed["a"].outcome == Outcome::failed("no network"));
  CHECK(failed["b"].outcome == Outcome::failed("no disk"));
}

TEST_CASE_FIXTURE(EngineFixture, "T3: an approval waits over two ends of the engine and goes on") {
  Pipeline pipeline = waiting("p");
  pipeline.task("after", "noop").after({"go"});
  RunId run;
  {
    Engine engine = open();
    run = value(engine.start(pipeline));
    CHECK(code_of(engine.node_done(run, "after", 0, Outcome::succeeded())) ==
          ErrorCode::not_external);
  }
  {
    Engine engine = open();
    CHECK(value(engine.wait(run, 0ms)).state == RunState::running);
  }
  Engine engine = open();
  CHECK(code_of(engine.node_done(run, "go", 7, Outcome::succeeded())) == ErrorCode::old_attempt);
  CHECK(code_of(engine.node_done(run, "go", 0, Outcome::succeeded(), {.output = "{"})) ==
        ErrorCode::invalid_argument);
  CHECK(value(engine.node_done(run, "go", 1, Outcome::succeeded(), {.output = "1"})));
  CHECK(end_of(engine, run) == RunState::succeeded);
  CHECK(value(engine.output(run, "go")) == "1");
  CHECK_FALSE(value(engine.node_done(run, "go", 1, Outcome::succeeded())));
}

TEST_CASE_FIXTURE(EngineFixture, "R4: a stop ends a run, and a second one changes nothing") {
  Engine engine = open();
  const RunId run = value(engine.start(waiting("p")));
  CHECK(value(engine.stop(run)));
  CHECK(end_of(engine, run) == RunState::stopped);
  CHECK_FALSE(value(engine.stop(run)));
  CHECK(code_of(engine.stop({"p", 9})) == ErrorCode::not_found);
  CHECK(code_of(engine.status({"p", 9})) == ErrorCode::not_found);
  CHECK(code_of(engine.wait({"q", 1}, 1s)) == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(EngineFixture, "R3: a start finds the live run, and a request id its own") {
  Engine engine = open();
  const StartedRun first = value(engine.start_or_join(waiting("p"), {.request_id = "one"}));
  CHECK(first.created);
  const StartedRun second = value(engine.start_or_join(waiting("p")));
  CHECK(second.run == first.run);
  CHECK_FALSE(second.created);
  Pipeline other = waiting("p");
  other.external("more");
  CHECK(code_of(engine.start(other)) == ErrorCode::different_pipeline);
  value(engine.stop(first.run));
  CHECK(end_of(engine, first.run) == RunState::stopped);
  CHECK(value(engine.start_or_join(waiting("p"), {.request_id = "one"})).run == first.run);
  CHECK(value(engine.start(waiting("p"))) == RunId{"p", 2});
}

TEST_CASE_FIXTURE(EngineFixture,
                  "R2: a pipeline that breaks a rule is refused, and nothing stored") {
  Engine engine = open();
  Pipeline cycle{"p"};
  cycle.join("a").after({"b"});
  cycle.join("b").after({"a"});
  const auto refused = engine.start(cycle);
  CHECK(code_of(refused) == ErrorCode::invalid_pipeline);
  CHECK(refused.error().cycle.size() == 2);
  CHECK(code_of(engine.start(Pipeline{"empty"})) == ErrorCode::invalid_pipeline);
  Pipeline smuggled{"p"};
  smuggled.task("a", "noop").params(R"({}, "command": ["x"])");
  CHECK(code_of(engine.start(smuggled)) == ErrorCode::invalid_pipeline);
  Pipeline bytes{"p"};
  bytes.task("a\xff", "noop");
  CHECK(code_of(engine.start(bytes)) == ErrorCode::invalid_pipeline);
  CHECK(value(engine.runs()).empty());
}

TEST_CASE_FIXTURE(EngineFixture,
                  "T13: a run whose task is not here waits, and is taken up with it") {
  Engine engine = open();
  const RunId run = value(engine.start(chain_of("p", "later", {"a"})));
  CHECK(value(engine.wait(run, 0ms)).state == RunState::queued);
  CHECK(eventually(
      [&] { return value(engine.status(run)).parked == "no executor here runs task \"later\""; }));
  value(engine.register_task("later", [](TaskContext&) {}));
  CHECK(end_of(engine, run) == RunState::succeeded);
  CHECK(code_of(engine.register_task("later", [](TaskContext&) {})) == ErrorCode::invalid_argument);
}

TEST_CASE_FIXTURE(EngineFixture, "a drained engine leaves its runs alive for the next") {
  std::atomic<int> calls = 0;
  const Task watch = [&calls](TaskContext& task) {
    ++calls;
    if (calls == 1) {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock{mutex};
      changed.wait(lock, task.stop_token(), [] { return false; });
      CHECK(task.stop_reason() == CancelReason::drain);
    }
  };
  RunId run;
  {
    Engine engine = open();
    value(engine.register_task("watch", watch));
    run = value(engine.start(chain_of("p", "watch", {"a"})));
    CHECK(eventually([&] { return calls == 1; }));
    engine.drain(0ms);
    CHECK(value(engine.status(run)).state == RunState::running);
  }
  Engine engine = open();
  value(engine.register_task("watch", watch));
  CHECK(end_of(engine, run) == RunState::succeeded);
  CHECK(calls == 2);
}

TEST_CASE("a store in memory runs commands and tasks, and leaves nothing behind") {
  Engine engine = value(Engine::open({.store = ":memory:"}));
  Pipeline pipeline{"p"};
  pipeline.command("a", {"sh", "-c", "echo '{\"x\":1}' > \"$STAGECALL_OUTPUT\""});
  const RunId run = value(engine.start(pipeline));
  CHECK(end_of(engine, run) == RunState::succeeded);
  CHECK(value(engine.output(run, "a")) == "{\"x\":1}\n");
}

TEST_CASE("options out of their range are refused, and named") {
  for (const auto& [options, named] : std::vector<std::pair<EngineOptions, std::string>>{
           {{.store = ""}, "store"},
           {{.store = ":memory:", .tick = 49ms}, "tick"},
           {{.store = ":memory:", .lease_ttl = 999ms}, "lease_ttl"},
           {{.store = ":memory:", .slots = 100'001}, "slots"},
           {{.store = ":memory:", .task_threads = 10'001}, "task_threads"},
           {{.store = ":memory:", .executors = {nullptr}}, "executors"}}) {
    CAPTURE(named);
    const auto refused = Engine::open(options);
    CHECK(code_of(refused) == ErrorCode::invalid_argument);
    CHECK(refused.error().message.find(named + " is out of its range") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(EngineFixture, "a report with a request id may be repeated") {
  Engine engine = open();
  Pipeline pipeline = waiting("p");
  pipeline.external("last").after({"go"});
  const RunId run = value(engine.start(pipeline));
  const auto report = [&](const std::string& id) {
    return engine.node_done(run, "go", 1, Outcome::succeeded(), {.request_id = id});
  };
  CHECK(value(report("once")));
  REQUIRE(eventually([&] {
    const auto other = report({});
    return !other && other.error().code == ErrorCode::not_waiting;
  }));
  CHECK_FALSE(value(report("once")));
  CHECK(code_of(engine.node_done(run, "last", 0, Outcome::succeeded(), {.force_reason = ""})) ==
        ErrorCode::invalid_argument);
}

}  // namespace stagecall::testing
