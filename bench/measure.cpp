#include "bench/measure.hpp"

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <utility>

namespace stagecall::bench {
namespace {

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now()), cpu_start_(cpu_seconds()) {}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double Stopwatch::cpu_percent() const {
  return 100 * (cpu_seconds() - cpu_start_) / seconds();
}

void write_json(std::ostream& out, const Measurement& measured) {
  out << nlohmann::ordered_json{{"workload", measured.workload},
                                {"variant", measured.variant},
                                {"n", measured.n},
                                {"nodes", measured.nodes},
                                {"seconds", measured.seconds},
                                {"nodes_per_s", measured.nodes_per_second()},
                                {"passes", measured.passes},
                                {"commits", measured.commits},
                                {"cpu_pct", measured.cpu_percent}}
             .dump()
      << std::endl;
}

void write_table(std::ostream& out, const std::vector<Measurement>& all) {
  std::map<std::pair<std::string, std::string>, std::vector<Measurement>> groups;
  for (const Measurement& measured : all) {
    groups[{measured.workload, measured.variant}].push_back(measured);
  }
  out << std::left << std::setw(9) << "workload" << std::setw(14) << "variant" << std::right
      << std::setw(9) << "nodes" << std::setw(12) << "nodes/s" << std::setw(12) << "least"
      << std::setw(12) << "most" << std::setw(9) << "passes" << std::setw(9) << "commits"
      << std::setw(7) << "cpu%" << '\n';
  for (auto& [key, group] : groups) {
    std::sort(group.begin(), group.end(), [](const Measurement& one, const Measurement& other) {
      return one.nodes_per_second() < other.nodes_per_second();
    });
    const Measurement& median = group[group.size() / 2];
    out << std::left << std::setw(9) << key.first << std::setw(14) << key.second << std::right
        << std::fixed << std::setprecision(0) << std::setw(9) << median.nodes << std::setw(12)
        << median.nodes_per_second() << std::setw(12) << group.front().nodes_per_second()
        << std::setw(12) << group.back().nodes_per_second() << std::setw(9) << median.passes
        << std::setw(9) << median.commits << std::setw(7) << median.cpu_percent << '\n';
  }
}

}  // namespace stagecall::bench
