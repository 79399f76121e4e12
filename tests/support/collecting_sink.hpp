// A trace's sink that keeps all events, to be asked by type. Any thread.
#pragma once

#include "stagecall/trace.hpp"

#include <mutex>
#include <variant>
#include <vector>

namespace stagecall::testing {

class CollectingSink : public TraceSink {
 public:
  void take(const std::vector<TraceEvent>& events) override {
    const std::lock_guard lock{mutex_};
    events_.insert(events_.end(), events.begin(), events.end());
  }

  template <class Event>
  std::vector<Event> all() {
    const std::lock_guard lock{mutex_};
    std::vector<Event> found;
    for (const TraceEvent& event : events_) {
      if (const auto* one = std::get_if<Event>(&event)) {
        found.push_back(*one);
      }
    }
    return found;
  }

 private:
  std::mutex mutex_;
  std::vector<TraceEvent> events_;
};

}  // namespace stagecall::testing
