// Hands news to the sink in the order in which they were put, all at once that have come together.
// Without a thread of its own: whoever has put news flushes, and the one who does so first delivers
// what the others put meanwhile. So an end costs one wake-up less on its way.
#pragma once

#include "stagecall/executor.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace stagecall {

/// Any thread. Nobody may hold a lock when flushing or closing that a call of the sink's may want.
class ReportOutbox {
 public:
  /// Where the last progress of one attempt stands; belongs to whoever puts it.
  struct ProgressPlace {
    std::uint64_t batch = 0;
    std::size_t index = 0;
  };

  void open(ReportSink& sink);
  /// Leaves with the next flush. Dropped unless open: the end that it tells is still there to be
  /// asked for.
  void put(AttemptReport report);
  /// Replaces the progress at `place` if that has not left yet: at most one an attempt waits here.
  void put_progress(const AttemptKey& key, double fraction, ProgressPlace& place);
  /// Reports what has been put, or leaves it to whoever is about to report.
  void flush();
  /// Reports what has been put. After it the sink is not called any more.
  void close();

 private:
  void deliver(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable delivered_;
  ReportSink* sink_ = nullptr;
  bool is_open_ = false;
  bool is_delivering_ = false;
  std::uint64_t batch_ = 1;  // the number of what waits; 0 is none
  std::vector<AttemptReport> waiting_;
};

}  // namespace stagecall
