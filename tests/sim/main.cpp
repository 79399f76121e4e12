// stagecall-sim: whole replicas in one thread and in virtual time, one simulation a seed.
#include "platform/system_clock.hpp"
#include "tests/sim/scenario.hpp"
#include "tests/sim/world.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace {

using stagecall::Duration;
using stagecall::sim::Scenario;

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 100;
  std::uint64_t seconds = 0;  // 0: by number
  std::string scenario{};
  bool json = false;
};

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t passes = 0;
  std::uint64_t runs = 0;
  std::uint64_t violations = 0;
  std::uint64_t trace_hash = 0;
  Duration virtual_time{0};
  std::map<std::string, std::uint64_t> faults{};
};

/// Of the seed that is being simulated, for an assertion of the shipped code.
std::string replay_command;

void tell_how_to_replay(int) {
  const std::string text = "stagecall-sim: an assertion failed; replay: " + replay_command + '\n';
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

std::string replay_of(std::uint64_t seed, const Arguments& arguments) {
  std::string command = "stagecall-sim --seed " + std::to_string(seed) + " --seeds 1";
  return arguments.scenario.empty() ? command : command + " --scenario " + arguments.scenario;
}

/// With STAGECALL_SIM_LOG all that happens goes to stderr.
bool is_loud() {
  return std::getenv("STAGECALL_SIM_LOG") != nullptr;
}

void quiet_log() {
  auto logger = std::make_shared<spdlog::logger>("stagecall",
                                                 std::make_shared<spdlog::sinks::null_sink_mt>());
  logger->set_level(spdlog::level::off);
  spdlog::register_logger(logger);
}

void simulate(std::uint64_t seed, const std::optional<Scenario>& given, const Arguments& arguments,
              Totals& totals) {
  replay_command = replay_of(seed, arguments);
  stagecall::sim::Dice dice{seed ^ 0x5ce4a110};
  const Scenario scenario = given ? *given : stagecall::sim::random_scenario(dice);
  const auto outcomes = stagecall::sim::World{seed, scenario, is_loud()}.run();
  ++totals.seeds;
  totals.passes += outcomes.passes;
  totals.runs += outcomes.runs;
  totals.virtual_time += outcomes.virtual_time;
  totals.trace_hash = totals.trace_hash * 31 + outcomes.trace_hash;
  for (const auto& [fault, count] : outcomes.faults) {
    totals.faults[fault] += count;
  }
  if (!outcomes.broken.rule.empty()) {
    ++totals.violations;
    for (const std::string& line : outcomes.recent) {
      std::cerr << "  " << line << '\n';
    }
    std::cerr << "seed " << seed << ", scenario " << scenario.name << ": " << outcomes.broken.rule
              << ": " << outcomes.broken.text << "\n  replay: " << replay_command << '\n';
  }
}

void print(const Arguments& arguments, const Totals& totals, double seconds) {
  if (arguments.json) {
    nlohmann::ordered_json json{{"first_seed", arguments.seed},
                                {"seeds", totals.seeds},
                                {"passes", totals.passes},
                                {"violations", totals.violations},
                                {"seconds", seconds}};
    std::cout << json.dump() << '\n';
    return;
  }
  std::cout << totals.seeds << " seeds from " << arguments.seed << ", " << totals.runs << " runs, "
            << totals.passes << " passes, "
            << static_cast<double>(totals.virtual_time.count()) / 3'600'000 << " h virtual, "
            << seconds << " s, trace " << std::hex << totals.trace_hash << std::dec << ", "
            << totals.violations << " violations\n";
  for (const auto& [fault, count] : totals.faults) {
    std::cout << "  " << fault << ' ' << count << '\n';
  }
}

int run(const Arguments& arguments) {
  std::optional<Scenario> scenario;
  if (!arguments.scenario.empty()) {
    std::ifstream file{arguments.scenario};
    auto read = stagecall::sim::read_scenario({std::istreambuf_iterator<char>{file}, {}});
    if (!read) {
      std::cerr << "stagecall-sim: " << arguments.scenario << ": " << read.error().message << '\n';
      return 2;
    }
    scenario = *std::move(read);
  }
  const stagecall::SystemClock clock;
  const auto begun = clock.boot();
  const auto elapsed = [&] { return static_cast<double>((clock.boot() - begun).count()) / 1000; };
  Totals totals;
  const auto goes_on = [&] {
    return arguments.seconds > 0 ? elapsed() < static_cast<double>(arguments.seconds)
                                 : totals.seeds < arguments.seeds;
  };
  while (goes_on()) {
    simulate(arguments.seed + totals.seeds, scenario, arguments, totals);
  }
  print(arguments, totals, elapsed());
  return totals.violations == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Simulates whole replicas from a seed, with faults, and checks what they do.",
               "stagecall-sim"};
  app.add_option("--seed", arguments.seed, "the first seed; default 1");
  auto* const seeds = app.add_option("--seeds", arguments.seeds, "so many of them; default 100")
                          ->check(CLI::PositiveNumber);
  app.add_option("--seconds", arguments.seconds, "seeds until so much time has passed")
      ->check(CLI::PositiveNumber)
      ->excludes(seeds);
  app.add_option("--scenario", arguments.scenario, "a file; default: drawn from each seed")
      ->check(CLI::ExistingFile);
  app.add_flag("--json", arguments.json, "one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::signal(SIGABRT, tell_how_to_replay);
  quiet_log();
  return run(arguments);
}
