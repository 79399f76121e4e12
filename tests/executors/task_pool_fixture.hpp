// A task pool with a few tasks, a log of what it reports, and short ways to wait for that.
#pragma once

#include "executors/task_pool.hpp"
#include "platform/system_clock.hpp"
#include "tests/executors/executor_contract.hpp"
#include "tests/support/gate.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace stagecall::testing {

inline NodeSpec task(std::string name, std::string params = "") {
  return {.id = "node", .action = TaskAction{std::move(name)}, .params = std::move(params)};
}

/// Returns when told to.
inline void wait_for_stop(TaskContext& context) {
  Gate gate;
  const std::stop_callback open{context.stop_token(), [&] { gate.open(); }};
  gate.wait();
}

inline void leave(TaskContext& context, std::string json) {
  if (const auto left = context.output(std::move(json)); !left) {
    context.fail(left.error().message);
  }
}

inline Outcome failed(std::string error) {
  return {.kind = OutcomeKind::failed, .error = std::move(error)};
}

inline const Outcome kNotLaunched{.kind = OutcomeKind::not_launched, .error = "not launched"};

struct FixedInputs final : AttemptInputs {
  Result<std::map<std::string, std::string>> read() const override {
    if (reads++ == 0) {
      return fail(ErrorCode::store_unavailable, "busy");
    }
    return std::map<std::string, std::string>{{"before", "[1]"}};
  }
  mutable std::atomic<int> reads = 0;
};

struct ManualClock final : Clock {
  WallTime wall() const override { return WallTime{0ms}; }
  BootTime boot() const override { return BootTime{Duration{now.load()}}; }
  std::atomic<Duration::rep> now = 0;
};

/// The gate is shared: a call that is abandoned may return when the fixture is gone.
struct TaskPoolFixture {
  SystemClock clock;
  ReportLog log;
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::unique_ptr<TaskPool> pool;

  TaskPoolFixture() { open(4, clock); }
  ~TaskPoolFixture() { gate->open(); }

  void open(unsigned threads_max, const Clock& on) {
    pool = std::make_unique<TaskPool>(on, threads_max);
    REQUIRE(pool->open(log));
    REQUIRE(pool->add("noop", [](TaskContext&) {}));
    REQUIRE(pool->add("obedient", wait_for_stop));
    REQUIRE(pool->add("stuck", [gate = gate](TaskContext&) { gate->wait(); }));
  }

  AttemptKey start(NodeSpec node) const {
    const Launch launch = launch_of(std::move(node));
    pool->submit({launch});
    return launch.key;
  }

  AttemptKey start_running(NodeSpec node) {
    AttemptKey key = start(std::move(node));
    REQUIRE(log.wait_for<SaysRunning>(key));
    return key;
  }

  SaysEnded end_of(const AttemptKey& key) {
    const auto end = log.wait_for<SaysEnded>(key);
    REQUIRE(end);
    return *end;
  }

  SaysEnded run(const std::string& name, Task callable) {
    REQUIRE(pool->add(name, std::move(callable)));
    return end_of(start(task(name)));
  }
};

}  // namespace stagecall::testing
