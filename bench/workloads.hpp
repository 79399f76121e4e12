// The pipelines of the workloads: what is run, of how many nodes.
#pragma once

#include "stagecall/pipeline.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecall::bench {

/// Some runs of pipelines of one shape.
struct Workload {
  std::string name;
  std::uint64_t n = 0;
  std::uint64_t runs = 1;
  /// Whose runs they are, in turn: as many as the runs that one pipeline may have need.
  std::vector<Pipeline> pipelines;
  std::uint64_t nodes() const { return runs * pipelines.front().spec().nodes.size(); }
};

/// n tasks `work`, one after the other.
Workload chain(std::uint64_t n);
/// One, then n after it, then one after all of them, all tasks `work`.
Workload fan(std::uint64_t n);
/// n runs of 1 → 4 → 4 → 1 tasks `work`.
Workload small_runs(std::uint64_t n);
/// n runs of one node that waits for somebody outside.
Workload waiting_runs(std::uint64_t n);
/// One run of n commands `true` that wait for nothing.
Workload commands(std::uint64_t n);

}  // namespace stagecall::bench
