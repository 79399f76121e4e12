#include "executors/builtin_tasks.hpp"

#include "platform/system_clock.hpp"
#include "tests/executors/executor_contract.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

NodeSpec task(std::string name, std::string params = "") {
  return {.id = "node", .action = TaskAction{std::move(name)}, .params = std::move(params)};
}

struct Fixture {
  SystemClock clock;
  ReportLog log;
  std::unique_ptr<Executor> executor = make_builtin_tasks(clock);
  Fixture() { REQUIRE(executor->open(log)); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "built-in tasks keep the contract of executors") {
  CHECK(executor->name() == "task");
  check_executor_contract({.open = [this](ReportSink& sink) -> Result<std::unique_ptr<Executor>> {
                             auto fresh = make_builtin_tasks(clock);
                             return fresh->open(sink).map([&] { return std::move(fresh); });
                           },
                           .quick = task("noop"),
                           .endless = task("sleep", R"({"seconds":9e4})"),
                           .dies_with_process = true});
}

TEST_CASE_FIXTURE(Fixture, "noops end within their submit, in one report") {
  const Launch first = launch_of(task("noop"));
  const Launch second = launch_of(task("noop"));
  executor->submit({first, second});
  CHECK(log.calls() == 1);
  CHECK(log.of(first.key) == std::vector<AttemptNews>{SaysEnded{}});
  CHECK(log.of(second.key) == std::vector<AttemptNews>{SaysEnded{}});
}

TEST_CASE_FIXTURE(Fixture, "sleeps end in the order of their lengths, each after it said running") {
  const Launch later = launch_of(task("sleep", R"({"seconds": 0.05})"));
  const Launch sooner = launch_of(task("sleep", R"({"seconds": 0})"));
  executor->submit({later, sooner});
  REQUIRE(log.wait_for<SaysEnded>(sooner.key));
  REQUIRE(log.wait_for<SaysEnded>(later.key));
  const std::vector<AttemptNews> both{SaysRunning{}, SaysEnded{}};
  CHECK(log.of(sooner.key) == both);
  CHECK(log.of(later.key) == both);
}

TEST_CASE_FIXTURE(Fixture, "a sleep whose params say no length is rejected, naming them") {
  for (const char* params : {"", "{}", "[]", R"({"seconds":-1})", R"({"seconds":"1"})",
                             R"({"seconds":1e300})", R"({"seconds":null})"}) {
    CAPTURE(params);
    const Launch launch = launch_of(task("sleep", params));
    executor->submit({launch});
    const auto end = log.wait_for<SaysEnded>(launch.key);
    REQUIRE(end);
    CHECK(end->outcome.kind == OutcomeKind::rejected);
    CHECK(end->outcome.error.find("params") != std::string::npos);
    CHECK(end->outcome.error.find("seconds") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture, "a task of another incarnation has ended with its process") {
  const AttemptKey key = next_key();
  executor->query({{key, "another", false}});
  CHECK(log.of(key) == std::vector<AttemptNews>{SaysAbsent{.proven = true}});
}

TEST_CASE_FIXTURE(Fixture, "only registered names can run") {
  CHECK_FALSE(executor->can_run(task("checksum")));
  CHECK_FALSE(executor->can_run({.id = "node", .action = CommandAction{{"true"}}}));
}
