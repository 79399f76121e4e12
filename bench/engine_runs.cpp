#include "bench/engine_runs.hpp"

#include "bench/machine.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace stagecall::bench {
namespace {

constexpr std::uint64_t kStarters = 4;
constexpr std::chrono::minutes kPatience{5};

}  // namespace

std::string store_in(const std::string& folder) {
  return folder + "/engine.db";
}

EngineOptions usual_options(const std::string& folder) {
  return {.store = store_in(folder), .slots = 1'024, .task_threads = 2};
}

Result<Engine> open_engine(const EngineOptions& options) {
  auto engine = Engine::open(options);
  if (engine) {
    if (auto added = engine->register_task("work", [](TaskContext&) {}); !added) {
      return tl::unexpected<Error>{added.error()};
    }
  }
  return engine;
}

Result<std::vector<RunId>> start_all(Engine& engine, const Workload& workload) {
  std::vector<RunId> runs(workload.runs);
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> has_failed = false;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < std::min(kStarters, workload.runs); ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t k = next++; k < workload.runs && !has_failed; k = next++) {
        if (auto run = engine.start(workload.pipelines[k % workload.pipelines.size()])) {
          runs[k] = *std::move(run);
        } else {
          has_failed = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (has_failed) {
    return fail(ErrorCode::internal, workload.name + ": a run could not be started");
  }
  return runs;
}

Result<std::uint64_t> finish_all(Engine& engine, const std::vector<RunId>& runs) {
  std::uint64_t passes = 0;
  for (const RunId& run : runs) {
    const auto status = engine.wait(run, std::chrono::hours{1});
    if (!status || status->state != RunState::succeeded) {
      return fail(ErrorCode::internal, run.text() + " did not succeed");
    }
    passes += status->passes.event + status->passes.tick;
  }
  return passes;
}

Result<Measurement> run_all(Engine& engine, const Workload& workload) {
  const std::uint64_t commits_before = engine.counters()["store.commits"];
  const Stopwatch watch;
  const auto runs = start_all(engine, workload);
  if (!runs) {
    return tl::unexpected<Error>{runs.error()};
  }
  const auto passes = finish_all(engine, *runs);
  if (!passes) {
    return tl::unexpected<Error>{passes.error()};
  }
  return Measurement{.workload = workload.name,
                     .variant = "stagecall",
                     .n = workload.n,
                     .nodes = workload.nodes(),
                     .seconds = watch.seconds(),
                     .cpu_percent = watch.cpu_percent(),
                     .rss_mb = resident_mb(),
                     .passes = *passes,
                     .commits = engine.counters()["store.commits"] - commits_before};
}

bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds between) {
  const Stopwatch watch;
  const double limit = std::chrono::duration<double>(kPatience).count();
  while (!holds()) {
    if (watch.seconds() > limit) {
      return false;
    }
    std::this_thread::sleep_for(between);
  }
  return true;
}

}  // namespace stagecall::bench
