#include "bench/measure.hpp"

#include "bench/machine.hpp"

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <tuple>
#include <utility>

namespace stagecall::bench {
namespace {

using Json = nlohmann::ordered_json;

double cpu_seconds_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_seconds_so_far() {
  return cpu_seconds_of(RUSAGE_SELF) + cpu_seconds_of(RUSAGE_CHILDREN);
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

std::optional<double> optional_number(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional{value.get<double>()};
}

std::string shown(const std::optional<double>& number) {
  std::ostringstream text;
  if (number) {
    text << std::fixed << std::setprecision(*number < 10 ? 3 : 1) << *number;
  }
  return text.str();
}

std::string shown(const std::map<std::string, double>& more) {
  std::ostringstream text;
  for (const auto& [name, value] : more) {
    text << "  " << name << '=' << std::setprecision(4) << value;
  }
  return text.str();
}

void write_row(std::ostream& out, const std::vector<Measurement>& group) {
  const Measurement& median = group[group.size() / 2];
  const auto rate = [](const Measurement& measured) {
    return shown(std::optional{measured.nodes_per_second()});
  };
  out << std::left << std::setw(5) << median.workload << std::setw(14) << median.part
      << std::setw(20) << median.variant << std::right << std::setw(8) << median.n << std::setw(9)
      << median.nodes << ' ' << std::left << std::setw(9) << median.unit << std::right
      << std::setw(12) << rate(median) << std::setw(12) << rate(group.front()) << std::setw(12)
      << rate(group.back()) << std::setw(9) << shown(median.p50_ms) << std::setw(9)
      << shown(median.p99_ms) << std::setw(9) << median.passes << std::setw(9) << median.commits
      << std::setw(7) << std::llround(median.cpu_percent) << std::setw(7)
      << std::llround(median.rss_mb) << shown(median.more) << '\n';
}

}  // namespace

Stopwatch::Stopwatch()
    : start_(std::chrono::steady_clock::now()), cpu_start_(cpu_seconds_so_far()) {}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double Stopwatch::cpu_seconds() const {
  return cpu_seconds_so_far() - cpu_start_;
}

std::optional<double> percentile(std::vector<double> samples, double part) {
  if (samples.empty()) {
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
  const auto at =
      samples.begin() + static_cast<std::ptrdiff_t>(std::min(index, samples.size() - 1));
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

std::string json_line(const Measurement& measured) {
  Json json{{"workload", measured.workload},
            {"part", measured.part},
            {"variant", measured.variant},
            {"n", measured.n},
            {"unit", measured.unit},
            {"nodes", measured.nodes},
            {"seconds", measured.seconds},
            {"nodes_per_s", measured.nodes_per_second()},
            {"p50_ms", number_or_null(measured.p50_ms)},
            {"p99_ms", number_or_null(measured.p99_ms)},
            {"cpu_pct", measured.cpu_percent},
            {"rss_mb", measured.rss_mb},
            {"passes", measured.passes},
            {"commits", measured.commits},
            {"machine", machine_text()}};
  json["more"] = measured.more;
  return json.dump();
}

Result<Measurement> read_json_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) {
    return fail(ErrorCode::internal, "no measurement: " + std::string{line});
  }
  return Measurement{.workload = json.at("workload"),
                     .part = json.at("part"),
                     .variant = json.at("variant"),
                     .n = json.at("n"),
                     .unit = json.at("unit"),
                     .nodes = json.at("nodes"),
                     .seconds = json.at("seconds"),
                     .p50_ms = optional_number(json.at("p50_ms")),
                     .p99_ms = optional_number(json.at("p99_ms")),
                     .cpu_percent = json.at("cpu_pct"),
                     .rss_mb = json.at("rss_mb"),
                     .passes = json.at("passes"),
                     .commits = json.at("commits"),
                     .more = json.at("more").get<std::map<std::string, double>>()};
}

void write_table(std::ostream& out, const std::vector<Measurement>& all) {
  std::vector<std::vector<Measurement>> groups;  // in the order in which they came
  const auto key = [](const Measurement& measured) {
    return std::tie(measured.workload, measured.part, measured.n, measured.variant);
  };
  for (const Measurement& measured : all) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) {
      return key(known.front()) == key(measured);
    });
    if (group == groups.end()) {
      groups.push_back({measured});
    } else {
      group->push_back(measured);
    }
  }
  out << machine_text() << '\n'
      << std::left << std::setw(39) << "workload, part, variant" << std::right << std::setw(8)
      << "n" << std::setw(9) << "done" << std::setw(22) << "median/s" << std::setw(12) << "least"
      << std::setw(12) << "most" << std::setw(9) << "p50 ms" << std::setw(9) << "p99 ms"
      << std::setw(9) << "passes" << std::setw(9) << "commits" << std::setw(7) << "cpu%"
      << std::setw(7) << "MiB" << '\n';
  for (std::vector<Measurement>& group : groups) {
    std::sort(group.begin(), group.end(), [](const Measurement& one, const Measurement& other) {
      return one.nodes_per_second() < other.nodes_per_second();
    });
    write_row(out, group);
  }
}

}  // namespace stagecall::bench
