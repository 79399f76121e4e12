// stagecall-bench: the workloads on the real path, beside the floor of the store, in one run.
#include "bench/measure.hpp"
#include "bench/variants.hpp"
#include "bench/workloads.hpp"
#include "platform/scratch_folder.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace {

using stagecall::Result;
using stagecall::bench::Measurement;

struct Arguments {
  std::vector<std::string> workloads;
  std::uint64_t n = 0;
  std::uint64_t repeats = 3;
  bool json = false;
};

/// One repeat: the engine, then the floor of what it has recorded, in a folder of their own.
Result<std::vector<Measurement>> measure(const std::string& name, std::uint64_t n) {
  const auto workload = stagecall::bench::make_workload(name, n);
  const auto folder = stagecall::ScratchFolder::make();
  if (!workload || !folder) {
    return tl::unexpected<stagecall::Error>{workload ? folder.error() : workload.error()};
  }
  const auto engine = stagecall::bench::measure_engine(*workload, folder->path());
  if (!engine) {
    return tl::unexpected<stagecall::Error>{engine.error()};
  }
  return stagecall::bench::measure_floor(*workload, *engine, folder->path())
      .map([&engine](const Measurement& floor) {
        return std::vector{*engine, floor};
      });
}

int run(Arguments arguments) {
  const std::vector<std::string>& names = stagecall::bench::workload_names();
  std::vector<std::string>& chosen = arguments.workloads;
  if (chosen.empty() || std::find(chosen.begin(), chosen.end(), "all") != chosen.end()) {
    chosen = names;
  }
  std::vector<Measurement> all;
  for (const std::string& name : chosen) {
    for (std::uint64_t i = 0; i < arguments.repeats; ++i) {
      const auto measured = measure(name, arguments.n);
      if (!measured) {
        std::cerr << "stagecall-bench: " << measured.error().message << '\n';
        return measured.error().code == stagecall::ErrorCode::invalid_argument ? 2 : 4;
      }
      for (const Measurement& each : *measured) {
        if (arguments.json) {
          stagecall::bench::write_json(std::cout, each);
        }
        all.push_back(each);
      }
    }
  }
  if (!arguments.json) {
    stagecall::bench::write_table(std::cout, all);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures Stagecall on its real path, with synchronous=FULL.", "stagecall-bench"};
  app.add_option("WORKLOAD", arguments.workloads, "W1, W2, W3 or all (the default)");
  app.add_option("--n", arguments.n, "size; default: the workload's usual one")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeats", arguments.repeats, "of each workload; default 3")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", arguments.json, "one JSON line a repeat and variant");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(std::move(arguments));
}
