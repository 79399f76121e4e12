// Which workloads there are: what each asks, and in which cases.
#pragma once

#include "bench/measure.hpp"
#include "stagecall/error.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stagecall::bench {

struct Request {
  std::uint64_t n = 0;              ///< 0: the workload's usual sizes
  std::chrono::seconds window{20};  ///< how long those look that watch what happens meanwhile

  std::uint64_t size(std::uint64_t usual) const { return n > 0 ? n : usual; }
};

using Measurements = Result<std::vector<Measurement>>;

/// Measured in a process and a folder of its own: ours and what it is compared with, in turn. What
/// is not here to be compared with is said on stderr, and left out.
using Case = std::function<Measurements(const std::string& folder)>;

struct Entry {
  std::string name;      ///< `W1`, …
  std::string question;  ///< for people
  std::vector<Case> (*cases)(const Request& request);
};

/// All, in order.
const std::vector<Entry>& catalogue();

// The cases of each, one file a workload or kind of workload.
std::vector<Case> chain_cases(const Request& request);       // W1
std::vector<Case> fan_cases(const Request& request);         // W2
std::vector<Case> small_runs_cases(const Request& request);  // W3
std::vector<Case> idle_cases(const Request& request);        // W4
std::vector<Case> lease_cases(const Request& request);       // W5
std::vector<Case> corpus_cases(const Request& request);      // W8
std::vector<Case> command_cases(const Request& request);     // W9
std::vector<Case> recovery_cases(const Request& request);    // W10
std::vector<Case> growth_cases(const Request& request);      // W11

}  // namespace stagecall::bench
