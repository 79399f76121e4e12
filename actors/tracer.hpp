// Brings what actors tell of their work to a sink: each thread has a bounded ring of its own, which
// one thread of the trace empties. No actor ever waits: what does not fit is counted and lost.
#pragma once

#include "stagecall/trace.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace stagecall {

/// A trace of one engine, on or off. Any thread; start and stop by one at a time.
class Tracer {
 public:
  Tracer();
  /// Stops.
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// The one look that tracing costs while it is off.
  bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }
  /// Unique in the process, and another one each time that it is switched: what was asked of the
  /// one before is asked again.
  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

  /// Begins anew, with `engine` as the first event; see TraceOptions for what is told.
  void start(const TraceOptions& options, TracedEngine engine);
  /// All that was told has been taken, unless the sink is stuck.
  void stop();

  /// Whether the messages of such an actor are wanted, and what it tells of its run.
  bool wants_messages(std::string_view kind, std::string_view run) const;
  bool wants_run(std::string_view run) const;

  /// Never blocks and never throws.
  void tell(TraceEvent event) noexcept;

  /// How many threads have got a ring. None before a trace is on.
  std::size_t rings() const;

 private:
  class Ring;
  struct Writing;

  Ring* ring_of_thread();

  std::atomic<bool> is_on_ = false;
  std::atomic<std::uint64_t> generation_;
  mutable std::mutex mutex_;
  TraceOptions options_;              // guarded by mutex_
  std::shared_ptr<Writing> writing_;  // shared with its thread, which outlives this if it is stuck
  std::thread writer_;
};

}  // namespace stagecall
