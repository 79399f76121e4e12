// What a measurement is, and how it is said: JSON lines for programs, a table for people.
#pragma once

#include "stagecall/error.hpp"

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall::bench {

/// One repeat of one workload, or of a part of it, by one variant.
struct Measurement {
  std::string workload;
  std::string part{};              ///< of a workload that asks several questions
  std::string variant;             ///< `stagecall`, or what it is compared with
  std::uint64_t n = 0;             ///< as given or by default: nodes, or runs where it says so
  std::string unit = "nodes";      ///< what `nodes` counts
  std::uint64_t nodes = 0;         ///< done in that time
  double seconds = 0;              ///< wall time
  std::optional<double> p50_ms{};  ///< of one unit; none: it was not timed by itself
  std::optional<double> p99_ms{};
  double cpu_percent = 0;                ///< of one core, of the whole process
  double rss_mb = 0;                     ///< resident at the end, of the whole process
  std::uint64_t passes = 0;              ///< rows of history
  std::uint64_t commits = 0;             ///< transactions of the store's writer
  std::map<std::string, double> more{};  ///< what only this workload counts

  double nodes_per_second() const { return static_cast<double>(nodes) / seconds; }
};

/// Wall and CPU time since it was made; CPU also of children that have been waited for.
class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;
  double cpu_seconds() const;
  double cpu_percent() const { return 100 * cpu_seconds() / seconds(); }

 private:
  std::chrono::steady_clock::time_point start_;
  double cpu_start_;
};

/// The value below which that part of the samples lies; none of none.
std::optional<double> percentile(std::vector<double> samples, double part);

/// One line, and what such a line says.
std::string json_line(const Measurement& measured);
Result<Measurement> read_json_line(std::string_view line);

/// Median, least and most of each workload and variant.
void write_table(std::ostream& out, const std::vector<Measurement>& all);

}  // namespace stagecall::bench
