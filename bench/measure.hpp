// What a measurement is, and how it is said: JSON lines for programs, a table for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace stagecall::bench {

/// One repeat of one workload by one variant.
struct Measurement {
  std::string workload;
  std::string variant;  ///< `stagecall`, or what it is compared with
  std::uint64_t n = 0;  ///< as given or by default: nodes, or runs where the workload says so
  std::uint64_t nodes = 0;
  double seconds = 0;
  std::uint64_t passes = 0;   ///< rows of history
  std::uint64_t commits = 0;  ///< transactions of the store's writer
  double cpu_percent = 0;     ///< of one core, of the whole process

  double nodes_per_second() const { return static_cast<double>(nodes) / seconds; }
};

/// Wall and CPU time since it was made.
class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;
  double cpu_percent() const;

 private:
  std::chrono::steady_clock::time_point start_;
  double cpu_start_;
};

void write_json(std::ostream& out, const Measurement& measured);

/// Median, least and most of each workload and variant.
void write_table(std::ostream& out, const std::vector<Measurement>& all);

}  // namespace stagecall::bench
