// What a simulation is made of, as values: replicas, pipelines, chances of faults, and what happens
// at given times. Read from a file, or drawn from the seed.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/time.hpp"
#include "tests/sim/dice.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall::sim {

/// Something that is done at a given time, whatever the dice say.
struct Act {
  Duration at{0};
  std::string what{};       ///< crash, pause, drain, flush, forget, away, partition, cut, stop
  std::size_t replica = 0;  ///< by its place
  Duration lasts{0};        ///< pause, away, partition, cut
};

struct Scenario {
  std::string name = "random";
  std::uint32_t replicas = 3;
  std::uint32_t slots = 3;  ///< of each replica
  std::uint32_t runs = 4;   ///< starts that are asked for
  Duration length{60'000};  ///< with faults; afterwards every run must end
  Duration tick{5'000};
  Duration lease_ttl{15'000};
  std::map<std::string, double> faults{};  ///< chance a call, or rate a second
  std::vector<Act> acts{};                 ///< by time
  std::vector<std::string> pipelines{};    ///< canonical texts; none: drawn from the seed
};

/// A fault that can be asked for, and its chance or rate in the wildest random scenario.
struct FaultKind {
  std::string_view name;
  double most;
};
const std::vector<FaultKind>& fault_kinds();

/// invalid_argument names the member that is wrong.
Result<Scenario> read_scenario(const std::string& text);
Scenario random_scenario(Dice& dice);
/// Canonical text of a small pipeline with a bit of everything.
std::string random_pipeline(Dice& dice, const std::string& name);

}  // namespace stagecall::sim
