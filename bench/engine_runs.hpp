// An engine as a host has it, and many runs on it.
#pragma once

#include "bench/measure.hpp"
#include "bench/workloads.hpp"
#include "stagecall/stagecall.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stagecall::bench {

/// Where the store of an engine stands in its folder.
std::string store_in(const std::string& folder);

/// synchronous=FULL, 1,024 slots, two threads for tasks; the task `work` does nothing.
EngineOptions usual_options(const std::string& folder);
Result<Engine> open_engine(const EngineOptions& options);

/// Starts all runs, from four threads.
Result<std::vector<RunId>> start_all(Engine& engine, const Workload& workload);

/// Waits until all have succeeded; their passes.
Result<std::uint64_t> finish_all(Engine& engine, const std::vector<RunId>& runs);

/// Starts and finishes the workload, and says what it took: seconds, CPU, passes, commits, memory.
Result<Measurement> run_all(Engine& engine, const Workload& workload);

/// Asks until it holds, for five minutes at most.
bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds between);

}  // namespace stagecall::bench
