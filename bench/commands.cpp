// W9: n times the command `true`, two at once, beside xargs and beside bare forks.
#include "bench/catalogue.hpp"
#include "bench/child.hpp"
#include "bench/engine_runs.hpp"
#include "bench/machine.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <utility>

namespace stagecall::bench {
namespace {

constexpr std::uint32_t kAtOnce = 2;

Measurement measured(const std::string& variant, std::uint64_t n, const Stopwatch& watch) {
  return {.workload = "W9",
          .variant = variant,
          .n = n,
          .unit = "commands",
          .nodes = n,
          .seconds = watch.seconds(),
          .cpu_percent = watch.cpu_percent(),
          .rss_mb = resident_mb()};
}

/// CPU is counted to the end of the engine: until then its launcher and the commands are not.
Result<Measurement> by_engine(const std::string& variant, const std::string& folder,
                              std::uint64_t n, std::uint32_t slots) {
  EngineOptions options = usual_options(folder);
  options.store = folder + "/" + variant + ".db";
  options.slots = slots;
  const Stopwatch watch;
  std::optional<Measurement> done;
  {
    auto engine = open_engine(options);
    if (!engine) {
      return tl::unexpected<Error>{engine.error()};
    }
    auto measured = run_all(*engine, commands(n));
    if (!measured) {
      return measured;
    }
    done = *std::move(measured);
  }
  done->variant = variant;
  done->unit = "commands";
  done->cpu_percent = 100 * watch.cpu_seconds() / done->seconds;
  return *done;
}

Result<Measurement> by_xargs(const std::string& folder, std::uint64_t n) {
  const std::string lines = folder + "/lines";
  {
    std::ofstream out{lines};
    for (std::uint64_t i = 0; i < n; ++i) {
      out << i << '\n';
    }
  }
  const Stopwatch watch;
  const auto done = run_program(
      {"xargs", "-P", std::to_string(kAtOnce), "-n", "1", "-a", lines, "true"}, folder + "/xargs");
  if (!done) {
    return tl::unexpected<Error>{done.error()};
  }
  return measured("xargs-P2", n, watch);
}

/// The least: start, wait, nothing else.
Result<Measurement> by_spawning(std::uint64_t n) {
  std::array<char, 5> name{"true"};
  std::array<char*, 2> argv{name.data(), nullptr};
  const Stopwatch watch;
  for (std::uint64_t started = 0, ended = 0; ended < n;) {
    while (started < n && started - ended < kAtOnce) {
      pid_t pid = 0;
      if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) {
        return fail(ErrorCode::internal, "cannot start true");
      }
      ++started;
    }
    ended += ::wait(nullptr) > 0 ? 1U : 0U;
  }
  return measured("spawn-floor", n, watch);
}

Measurements measure_commands(const std::string& folder, std::uint64_t n) {
  std::vector<Measurement> all;
  for (const auto& measure : std::array<std::function<Result<Measurement>()>, 4>{
           [&] { return by_spawning(n); }, [&] { return by_xargs(folder, n); },
           [&] { return by_engine("stagecall", folder, n, kAtOnce); },
           [&] { return by_engine("stagecall-8-slots", folder, n, 4 * kAtOnce); }}) {
    auto measurement = measure();
    if (!measurement) {
      return tl::unexpected<Error>{measurement.error()};
    }
    all.push_back(*std::move(measurement));
  }
  return all;
}

}  // namespace

std::vector<Case> command_cases(const Request& request) {
  return {[n = request.size(10'000)](const std::string& folder) {
    return measure_commands(folder, n);
  }};
}

}  // namespace stagecall::bench
