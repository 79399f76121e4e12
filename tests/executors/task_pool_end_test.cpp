// What does not heed its stop, and the end of a pool.
#include "tests/executors/task_pool_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <stop_token>
#include <string>
#include <vector>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

std::size_t count_threads() {
  const std::filesystem::directory_iterator all{"/proc/self/task"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "a task that ignores its stop is abandoned, and its thread replaced") {
  open(1, clock);
  const AttemptKey stuck = start_running(task("stuck"));
  const AttemptKey next = start(task("noop"));
  pool->cancel({{stuck, CancelReason::timeout, 0ms}});
  CHECK(end_of(next).outcome == Outcome{});
  CHECK(pool->abandoned() == 1);
  pool->query({{stuck, "ours"}});
  CHECK(log.wait_for<SaysAlive>(stuck));
  CHECK(log.of(stuck) == std::vector<AttemptNews>{SaysRunning{}, SaysAlive{}});
  // The replacement is one thread: the pool is as wide as before.
  const AttemptKey second = start_running(task("obedient"));
  const AttemptKey third = start(task("noop"));
  pool->query({{third, "ours"}});
  CHECK(log.wait_for<SaysAlive>(third));
  gate->open();
  CHECK(end_of(stuck).outcome.kind == OutcomeKind::timed_out);
  CHECK(pool->abandoned() == 0);
  CHECK(log.of(third) == std::vector<AttemptNews>{SaysAlive{}});
  pool->cancel({{second, CancelReason::stop, 60s}});
  CHECK(end_of(third).outcome == Outcome{});
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "a stop callback that does not return holds up no report and no close") {
  REQUIRE(pool->add("selfish", [gate = gate](TaskContext& context) {
    const std::stop_callback held{context.stop_token(), [&] { gate->wait(); }};
    gate->wait();
  }));
  const AttemptKey key = start_running(task("selfish"));
  pool->cancel({{key, CancelReason::stop, 60s}});
  CHECK(end_of(start(task("noop"))).outcome == Outcome{});
  pool->close(20ms);
  CHECK(pool->abandoned() == 1);
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "a grace that is over when the pool closes abandons nothing twice") {
  for (int round = 0; round < 20; ++round) {
    ManualClock manual;
    open(2, manual);
    const AttemptKey told = start_running(task("stuck"));
    pool->cancel({{told, CancelReason::stop, 5ms}});
    end_of(start(task("noop")));  // the watch is about to tell of its beginning
    manual.now = 10;
    pool->close(0ms);
    CHECK(pool->abandoned() == 1);
    gate->open();
    gate = std::make_shared<Gate>();
  }
}

TEST_CASE_FIXTURE(TaskPoolFixture, "a close leaves no thread when all heed it") {
  pool.reset();
  const std::size_t threads = count_threads();
  open(4, clock);
  const AttemptKey running = start_running(task("obedient"));
  end_of(start(task("noop")));
  CHECK(count_threads() <= threads + 4);
  pool->close(60s);
  CHECK(end_of(running).outcome.kind == OutcomeKind::interrupted);
  CHECK(eventually([&] { return count_threads() <= threads; }));
}

TEST_CASE_FIXTURE(TaskPoolFixture, "a close interrupts what still waits, unlaunched") {
  open(1, clock);
  start_running(task("obedient"));
  const AttemptKey waits = start(task("noop"));
  pool->close(60s);
  CHECK(log.of(waits) == std::vector<AttemptNews>{SaysEnded{
                             {.kind = OutcomeKind::interrupted, .error = "interrupted"}}});
}
