#include "actors/tracer.hpp"

#include "actors/log.hpp"
#include "messages/limits.hpp"
#include "platform/system_clock.hpp"

#include <algorithm>
#include <exception>
#include <variant>

namespace stagecall {
namespace {

/// Unique in the process: a thread may work for several engines.
std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

/// When the event was over.
struct TimeOf {
  TraceTime operator()(const TracedEngine&) const { return TraceTime::min(); }
  TraceTime operator()(const TracedMessage& message) const { return message.ended; }
  TraceTime operator()(const TracedAttempt& attempt) const { return attempt.recorded; }
  TraceTime operator()(const TracedCommit& commit) const { return commit.ended; }
  template <class Event>
  TraceTime operator()(const Event& event) const {
    return event.at;
  }
};

TraceTime time_of(const TraceEvent& event) {
  return std::visit(TimeOf{}, event);
}

}  // namespace

/// One thread puts in, one takes out.
class Tracer::Ring {
 public:
  void push(TraceEvent&& event) noexcept {
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == events_.size()) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    events_[end % events_.size()] = std::move(event);
    end_.store(end + 1, std::memory_order_release);
  }

  void take(std::vector<TraceEvent>& out) {
    const std::uint64_t end = end_.load(std::memory_order_acquire);
    for (std::uint64_t at = begin_.load(std::memory_order_relaxed); at != end; ++at) {
      out.push_back(std::move(events_[at % events_.size()]));
      begin_.store(at + 1, std::memory_order_release);
    }
  }

  std::uint64_t take_lost() { return lost_.exchange(0, std::memory_order_relaxed); }

 private:
  std::vector<TraceEvent> events_{kLimits.trace_ring_events};
  std::atomic<std::uint64_t> begin_ = 0;
  std::atomic<std::uint64_t> end_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
};

/// What the writing thread works on: nothing of the tracer itself, which may be gone.
struct Tracer::Writing {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<Ring>> rings;  // shared with the thread that fills each
  std::shared_ptr<TraceSink> sink;           // shared with the host
  bool ends = false;
  bool has_ended = false;
  bool is_broken = false;

  std::vector<TraceEvent> take() {
    std::vector<TraceEvent> events;
    std::uint64_t lost = 0;
    const std::lock_guard lock{mutex};
    for (auto& ring : rings) {
      const bool is_last = ring.use_count() == 1;  // its thread has let it go
      ring->take(events);
      lost += ring->take_lost();
      if (is_last) {
        ring.reset();
      }
    }
    std::erase(rings, nullptr);
    if (lost > 0) {
      events.emplace_back(TracedLoss{trace_now(), lost});
    }
    // An actor's events may be in several rings: it is not always the same thread's turn.
    std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
      return time_of(a) < time_of(b);
    });
    return events;
  }

  void hand_over(const std::vector<TraceEvent>& events) {
    if (events.empty() || is_broken) {
      return;
    }
    try {
      sink->take(events);
    } catch (const std::exception& exception) {
      is_broken = true;
      log().error("trace_sink_exception text=\"{}\"", exception.what());
    }
  }

  void write() {
    std::unique_lock lock{mutex};
    while (!ends) {
      changed.wait_for(lock, kLimits.trace_flush, [this] { return ends; });
      lock.unlock();
      hand_over(take());
      lock.lock();
    }
    lock.unlock();
    hand_over(take());
    lock.lock();
    sink.reset();
    has_ended = true;
    changed.notify_all();
  }
};

Tracer::Tracer() : generation_(next_generation()) {}

Tracer::~Tracer() {
  stop();
}

void Tracer::start(const TraceOptions& options, TracedEngine engine) {
  stop();
  {
    const std::lock_guard lock{mutex_};
    options_ = options;
    writing_ = std::make_shared<Writing>();
    writing_->sink = options.sink;
    generation_.store(next_generation(), std::memory_order_release);
    writer_ = std::thread{[writing = writing_] { writing->write(); }};
  }
  is_on_.store(true, std::memory_order_release);
  tell(std::move(engine));
}

void Tracer::stop() {
  is_on_.store(false, std::memory_order_release);
  std::shared_ptr<Writing> writing;
  {
    const std::lock_guard lock{mutex_};
    writing = std::exchange(writing_, nullptr);
    generation_.store(next_generation(), std::memory_order_release);
    options_ = {};
  }
  if (!writing) {
    return;
  }
  std::unique_lock lock{writing->mutex};
  writing->ends = true;
  writing->changed.notify_all();
  const bool has_ended =
      writing->changed.wait_for(lock, kLimits.trace_end, [&] { return writing->has_ended; });
  lock.unlock();
  if (has_ended) {
    writer_.join();
  } else {
    log().warn("trace_sink_stuck");
    writer_.detach();
  }
}

bool Tracer::wants_messages(std::string_view kind, std::string_view run) const {
  const std::lock_guard lock{mutex_};
  const auto& kinds = options_.kinds;
  return (kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) &&
         (run.empty() || options_.runs.empty() ||
          std::any_of(options_.runs.begin(), options_.runs.end(),
                      [run](const RunId& wanted) { return wanted.text() == run; }));
}

bool Tracer::wants_run(std::string_view run) const {
  const std::lock_guard lock{mutex_};
  return options_.runs.empty() ||
         std::any_of(options_.runs.begin(), options_.runs.end(),
                     [run](const RunId& wanted) { return wanted.text() == run; });
}

/// Of this trace; made when this thread tells something first. Null: the trace has been stopped.
Tracer::Ring* Tracer::ring_of_thread() {
  struct Own {
    std::uint64_t generation;
    std::shared_ptr<Ring> ring;  // shared with the trace that empties it
  };
  thread_local std::vector<Own> rings;  // of the engines that this thread works for: one, mostly
  const std::uint64_t generation = this->generation();
  for (const Own& own : rings) {
    if (own.generation == generation) {
      return own.ring.get();
    }
  }
  std::erase_if(rings, [](const Own& own) { return own.ring.use_count() == 1; });
  auto ring = std::make_shared<Ring>();
  const std::lock_guard lock{mutex_};
  if (!writing_ || generation != this->generation()) {
    return nullptr;
  }
  {
    const std::lock_guard writing_lock{writing_->mutex};
    writing_->rings.push_back(ring);
  }
  rings.push_back({generation, std::move(ring)});
  return rings.back().ring.get();
}

void Tracer::tell(TraceEvent event) noexcept {
  try {
    if (Ring* ring = ring_of_thread()) {
      ring->push(std::move(event));
    }
  } catch (const std::exception&) {
    // No memory for a ring: what would have been in it is missing.
  }
}

std::size_t Tracer::rings() const {
  const std::lock_guard lock{mutex_};
  if (!writing_) {
    return 0;
  }
  const std::lock_guard writing_lock{writing_->mutex};
  return writing_->rings.size();
}

}  // namespace stagecall
