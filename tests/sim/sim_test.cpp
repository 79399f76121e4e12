#include "tests/sim/scenario.hpp"
#include "tests/sim/world.hpp"
#include "tests/support/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace stagecall;
using namespace stagecall::sim;

namespace {

Outcomes simulate(std::uint64_t seed) {
  Dice dice{seed};
  return World{seed, random_scenario(dice), false}.run();
}

}  // namespace

TEST_CASE("the same seed gives the same trace") {
  for (const std::uint64_t seed : {1U, 7U, 23U}) {
    const Outcomes once = simulate(seed);
    const Outcomes again = simulate(seed);
    CAPTURE(seed);
    CHECK(once.trace_hash == again.trace_hash);
    CHECK(once.passes == again.passes);
  }
}

TEST_CASE("another seed gives another trace") {
  CHECK(simulate(1).trace_hash != simulate(2).trace_hash);
}

TEST_CASE("every scenario file can be read, and holds") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator{
           std::filesystem::path{testing::source_folder()} / "tests" / "sim" / "scenarios"}) {
    CAPTURE(entry.path().string());
    std::ifstream file{entry.path()};
    const auto scenario = read_scenario({std::istreambuf_iterator<char>{file}, {}});
    REQUIRE(scenario);
    CHECK(scenario->name == entry.path().stem().string());
    const Outcomes outcomes = World{1, *scenario, false}.run();
    CHECK(outcomes.broken.rule + outcomes.broken.text == "");
    CHECK(outcomes.passes > 0);
    ++files;
  }
  CHECK(files >= 5);
}

TEST_CASE("a scenario with an unknown fault is refused") {
  const auto scenario = read_scenario(R"({"name": "bad", "faults": {"store.melts": 1}})");
  REQUIRE_FALSE(scenario);
  CHECK(scenario.error().code == ErrorCode::invalid_argument);
  CHECK(scenario.error().message.find("store.melts") != std::string::npos);
}
