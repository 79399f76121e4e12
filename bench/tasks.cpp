// W1, W2, W3: nodes that do nothing, in a chain, a fan, and many small runs.
#include "bench/catalogue.hpp"
#include "bench/engine_runs.hpp"
#include "bench/sqlite_floor.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace stagecall::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// From each node of a chain to the next, in milliseconds.
std::vector<double> hops(const std::vector<Clock::time_point>& calls) {
  std::vector<double> hops;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    hops.push_back(std::chrono::duration<double, std::milli>(calls[i] - calls[i - 1]).count());
  }
  return hops;
}

/// In its own scope, so that the engine has ended when the floor is measured.
Result<Measurement> measure_engine(const Workload& workload, const std::string& folder) {
  auto engine = Engine::open(usual_options(folder));
  if (!engine) {
    return tl::unexpected<Error>{engine.error()};
  }
  std::vector<Clock::time_point> calls;
  Task work = [](TaskContext&) {};
  if (workload.name == "W1") {
    // Each call comes after the end of the one before it.
    work = [&calls](TaskContext&) { calls.push_back(Clock::now()); };
  }
  if (auto added = engine->register_task("work", std::move(work)); !added) {
    return tl::unexpected<Error>{added.error()};
  }
  return run_all(*engine, workload).map([&calls](Measurement measured) {
    measured.p50_ms = percentile(hops(calls), 0.5);
    measured.p99_ms = percentile(hops(calls), 0.99);
    return measured;
  });
}

std::vector<Case> beside_floor(const std::function<Workload()>& make) {
  return {[make](const std::string& folder) -> Measurements {
    const Workload workload = make();
    const auto engine = measure_engine(workload, folder);
    if (!engine) {
      return tl::unexpected<Error>{engine.error()};
    }
    return measure_floor(*engine, workload.runs, folder).map([&engine](const Measurement& floor) {
      return std::vector{*engine, floor};
    });
  }};
}

}  // namespace

std::vector<Case> chain_cases(const Request& request) {
  return beside_floor([n = request.size(1'000)] { return chain(n); });
}

std::vector<Case> fan_cases(const Request& request) {
  return beside_floor([n = request.size(10'000)] { return fan(n); });
}

std::vector<Case> small_runs_cases(const Request& request) {
  return beside_floor([n = request.size(1'000)] { return small_runs(n); });
}

}  // namespace stagecall::bench
