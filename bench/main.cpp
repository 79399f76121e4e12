// stagecall-bench: the workloads on the real path, beside what they are compared with, in one run.
#include "bench/apart.hpp"
#include "bench/catalogue.hpp"
#include "bench/measure.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace {

using stagecall::ErrorCode;
using stagecall::bench::Entry;
using stagecall::bench::Measurement;

struct Arguments {
  std::vector<std::string> workloads;
  stagecall::bench::Request request;
  std::uint64_t window = 20;
  std::uint64_t repeats = 3;
  bool json = false;
};

std::string names() {
  std::string names;
  for (const Entry& entry : stagecall::bench::catalogue()) {
    names += entry.name + ", ";
  }
  return names + "and all";
}

/// Those that are named; none, and a word, if one of them is not known.
std::vector<Entry> chosen(const std::vector<std::string>& workloads) {
  const std::vector<Entry>& all = stagecall::bench::catalogue();
  if (workloads.empty() ||
      std::find(workloads.begin(), workloads.end(), "all") != workloads.end()) {
    return all;
  }
  std::vector<Entry> entries;
  for (const std::string& name : workloads) {
    const auto entry = std::find_if(all.begin(), all.end(),
                                    [&name](const Entry& each) { return each.name == name; });
    if (entry == all.end()) {
      std::cerr << "stagecall-bench: there is no workload \"" << name << "\"; there are " << names()
                << '\n';
      return {};
    }
    entries.push_back(*entry);
  }
  return entries;
}

int run(Arguments arguments) {
  arguments.request.window = std::chrono::seconds{arguments.window};
  const std::vector<Entry> entries = chosen(arguments.workloads);
  std::vector<Measurement> all;
  for (const Entry& entry : entries) {
    for (std::uint64_t i = 0; i < arguments.repeats; ++i) {
      for (const auto& one : entry.cases(arguments.request)) {
        const auto measured = stagecall::bench::measure_apart(one);
        if (!measured) {
          std::cerr << "stagecall-bench: " << entry.name << ": " << measured.error().message
                    << '\n';
          return measured.error().code == ErrorCode::invalid_argument ? 2 : 4;
        }
        for (const Measurement& each : *measured) {
          if (arguments.json) {
            std::cout << stagecall::bench::json_line(each) << std::endl;
          }
          all.push_back(each);
        }
      }
    }
  }
  if (!arguments.json && !entries.empty()) {
    stagecall::bench::write_table(std::cout, all);
  }
  return entries.empty() ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures Stagecall on its real path, with synchronous=FULL.", "stagecall-bench"};
  app.add_option("WORKLOAD", arguments.workloads, names() + " (the default)");
  app.add_option("--n", arguments.request.n, "size; default: the workload's usual ones")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeats", arguments.repeats, "of each workload; default 3")
      ->check(CLI::PositiveNumber);
  app.add_option("--window", arguments.window, "seconds that W4 watches; default 20")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", arguments.json, "one JSON line a repeat and variant");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(std::move(arguments));
}
