// What a host does to an engine: many of them, many threads, the end at any moment.
#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

namespace stagecall::testing {
namespace {

std::size_t entries_of(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder},
                                                std::filesystem::directory_iterator{}));
}
std::size_t threads_now() {
  return entries_of("/proc/self/task");
}
std::size_t descriptors_now() {
  return entries_of("/proc/self/fd");
}

}  // namespace

TEST_CASE_FIXTURE(EngineFixture,
                  "E1: 200 engines opened and closed leak no thread and no descriptor") {
  value(open().start(waiting("p")));  // what is made once per process is made now
  const std::size_t threads = threads_now();
  const std::size_t descriptors = descriptors_now();
  for (int i = 0; i < 200; ++i) {
    Engine engine = open();
    if (i % 20 == 0) {
      CHECK(end_of(engine, value(engine.start(chain_of("q", "noop", {"a"})))) ==
            RunState::succeeded);
    }
  }
  CHECK(eventually([&] { return threads_now() == threads; }));
  CHECK(descriptors_now() == descriptors);
}

TEST_CASE_FIXTURE(EngineFixture, "E1: an engine with 1,000 idle runs ends and leaves them alive") {
  {
    Engine engine = open();
    Pipeline pipeline = waiting("p");
    pipeline.change().concurrent_runs = 1'000;
    value(pipeline.check());
    for (int i = 0; i < 1'000; ++i) {
      value(engine.start(pipeline));
    }
  }
  Engine next = value(Engine::open({.store = folder / "app.db", .adopts = false}));
  const auto runs = value(next.runs());
  CHECK(runs.size() == 1'000);
  CHECK(std::all_of(runs.begin(), runs.end(),
                    [](const RunStatus& run) { return run.state == RunState::running; }));
}

TEST_CASE_FIXTURE(EngineFixture, "E4: status answers while every thread of tasks is taken") {
  Engine engine = open();
  std::atomic<int> running = 0;
  value(engine.register_task("hold", [&running](TaskContext& task) {
    ++running;
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock{mutex};
    changed.wait(lock, task.stop_token(), [] { return false; });
  }));
  Pipeline pipeline{"p"};
  for (int i = 0; i < 10; ++i) {
    pipeline.task("n" + std::to_string(i), "hold");
  }
  const RunId run = value(engine.start(pipeline));
  REQUIRE(eventually([&] { return running == 4; }));
  const RunStatus status = value(engine.status(run));
  CHECK(status.nodes[static_cast<std::size_t>(NodeState::ready)] == 6);
  CHECK(status.state == RunState::running);
  value(engine.stop(run));
  CHECK(end_of(engine, run) == RunState::stopped);
}

TEST_CASE_FIXTURE(EngineFixture,
                  "E6: sixteen threads call everything at once, and every run ends") {
  constexpr int kThreads = 16;
  constexpr int kRuns = 5;
  Engine engine = open();
  std::atomic<int> told = 0;
  const Subscription subscription =
      value(engine.subscribe({}, [&told](const RunEvent&) { ++told; }));
  std::atomic<int> faults = 0;
  const auto expect = [&faults](bool holds) { faults += holds ? 0 : 1; };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = "p" + std::to_string(i);
      expect(engine.register_task(name, [](TaskContext& task) { task.progress(0.5); }).has_value());
      for (int k = 0; k < kRuns; ++k) {
        Pipeline pipeline = chain_of(name, name, {"a", "b"});
        pipeline.external("go").after({"b"});
        const auto run = engine.start(pipeline);
        expect(run.has_value());
        const bool stops = (i + k) % 3 == 0;
        if (stops) {
          expect(engine.stop(*run).has_value());
        } else {
          // Its turn comes by and by.
          expect(eventually(
              [&] { return engine.node_done(*run, "go", 0, Outcome::succeeded()).has_value(); }));
        }
        expect(engine.runs().has_value());
        expect(engine.explain(*run).has_value());
        const auto status = engine.wait(*run, 60s);
        expect(status && status->state == (stops ? RunState::stopped : RunState::succeeded));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(faults == 0);
  CHECK(value(engine.runs()).size() == kThreads * kRuns);
  CHECK(eventually([&] { return told >= kThreads * kRuns * 3; }));
}

TEST_CASE_FIXTURE(EngineFixture,
                  "R3: twenty threads on two engines start one pipeline and get one run") {
  Engine one = open();
  Engine two = open();
  std::mutex mutex;
  std::vector<StartedRun> started;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      const auto run = (i % 2 == 0 ? one : two).start_or_join(waiting("p"));
      const std::lock_guard lock{mutex};
      if (run) {
        started.push_back(*run);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  REQUIRE(started.size() == 20);
  CHECK(std::all_of(started.begin(), started.end(), [](const StartedRun& each) {
    return each.run == RunId{"p", 1};
  }));
  CHECK(std::count_if(started.begin(), started.end(),
                      [](const StartedRun& each) { return each.created; }) == 1);
}

TEST_CASE_FIXTURE(EngineFixture,
                  "E7: two engines in one process share a store, and one takes over") {
  const auto work = [](TaskContext& task) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock{mutex};
    changed.wait(lock, task.stop_token(), [] { return false; });
  };
  auto first = std::optional<Engine>{open()};
  value(first->register_task("work", work));
  EngineOptions quick = options();
  quick.tick = 50ms;
  Engine second = value(Engine::open(quick));
  value(second.register_task("work", [](TaskContext&) {}));
  const RunId held = value(first->start(chain_of("p", "work", {"a"})));
  const RunId elsewhere = value(second.start(chain_of("q", "work", {"a"})));
  CHECK(end_of(second, elsewhere) == RunState::succeeded);
  CHECK(end_of(*first, elsewhere) == RunState::succeeded);
  CHECK(value(second.status(held)).state == RunState::running);
  first.reset();
  CHECK(end_of(second, held) == RunState::succeeded);
}

TEST_CASE_FIXTURE(EngineFixture, "a stop reaches a run that another engine of the process holds") {
  Engine holder = open();
  const RunId run = value(holder.start(waiting("p")));
  Engine other = value(Engine::open({.store = folder / "app.db", .adopts = false}));
  CHECK(value(other.stop(run)));
  CHECK(end_of(other, run) == RunState::stopped);
}

}  // namespace stagecall::testing
