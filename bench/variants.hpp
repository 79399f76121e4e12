// Who does a workload: the engine on its real path, and the floor below which no store on the same
// file could go.
#pragma once

#include "bench/measure.hpp"
#include "bench/workloads.hpp"
#include "stagecall/error.hpp"

#include <string>

namespace stagecall::bench {

/// The engine as a host has it: synchronous=FULL, tasks on threads, each attempt recorded as
/// submitted and as ended, four threads that start the runs. The store stays in the folder.
Result<Measurement> measure_engine(const Workload& workload, const std::string& folder);

/// A loop that writes the passes which the engine has recorded in that folder, the same rows in as
/// many commits, to a new store: what is left when the engine costs nothing.
Result<Measurement> measure_floor(const Workload& workload, const Measurement& engine,
                                  const std::string& folder);

}  // namespace stagecall::bench
