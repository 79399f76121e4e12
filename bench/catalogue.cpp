#include "bench/catalogue.hpp"

namespace stagecall::bench {

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> entries{
      {"W1", "hops a second of a chain of n", chain_cases},
      {"W2", "nodes a second of 1 to n to 1", fan_cases},
      {"W3", "nodes a second of n runs of 1, 4, 4, 1 at once", small_runs_cases},
      {"W4", "what n runs cost that wait for somebody outside", idle_cases},
      {"W5", "leases a second of n keys in Redis", lease_cases},
      {"W8", "real workflows, beside their critical path", corpus_cases},
      {"W9", "commands a second of n times true", command_cases},
      {"W10", "runs a second taken up again after a kill -9", recovery_cases},
      {"W11", "how the time of W2 and W3 grows with their size", growth_cases},
  };
  return entries;
}

}  // namespace stagecall::bench
