// The workloads: what is run, of how many nodes, and what is asked.
#pragma once

#include "stagecall/pipeline.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecall::bench {

/// Some runs of one pipeline, all of whose nodes are the task `work`, which does nothing.
struct Workload {
  std::string name;
  std::string question;
  std::uint64_t n = 0;
  std::uint64_t runs = 1;
  Pipeline pipeline;
  std::uint64_t nodes() const { return runs * pipeline.spec().nodes.size(); }
};

/// `W1`, …, of its usual size, or of this one; invalid_argument names those there are.
Result<Workload> make_workload(const std::string& name, std::uint64_t n);

/// All names, in order.
const std::vector<std::string>& workload_names();

}  // namespace stagecall::bench
