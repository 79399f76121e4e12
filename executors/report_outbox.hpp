// Hands news to the sink on a thread of its own: in the order in which they were put, all at once
// that have come together. Whoever puts news never waits for the sink.
#pragma once

#include "stagecall/executor.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace stagecall {

/// Any thread, but for open and close, which one thread calls, once each.
class ReportOutbox {
 public:
  /// Where the last progress of one attempt stands; belongs to whoever puts it.
  struct ProgressPlace {
    std::uint64_t batch = 0;
    std::size_t index = 0;
  };

  /// executor_unavailable if there is no thread to be had.
  Result<void> open(ReportSink& sink);
  /// Dropped unless open: the end that it tells is still there to be asked for.
  void put(AttemptReport report);
  /// Replaces the progress at `place` if that has not left yet: at most one an attempt waits here.
  void put_progress(const AttemptKey& key, double fraction, ProgressPlace& place);
  /// Reports what has been put. After it the sink is not called any more.
  void close();

 private:
  void run();
  void add(AttemptReport report);

  std::mutex mutex_;
  std::condition_variable changed_;
  ReportSink* sink_ = nullptr;
  bool is_open_ = false;
  std::uint64_t batch_ = 1;  // the number of what waits; 0 is none
  std::vector<AttemptReport> waiting_;
  std::thread reporter_;
};

}  // namespace stagecall
