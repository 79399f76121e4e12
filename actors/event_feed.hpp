// Tells subscribers what was recorded. The store is the queue: a subscription knows how far it has
// read each run and reads on when it hears, or sees, that there is more. So nothing is lost,
// nothing comes twice, and one that is slow costs no memory.
#pragma once

#include "actors/shared_store.hpp"
#include "stagecall/engine.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace stagecall {

/// Any thread.
class EventFeed {
 public:
  /// `look` = how often a subscription looks for what other processes have recorded.
  EventFeed(std::shared_ptr<SharedStore> store, const Clock& clock, Duration look);
  /// Ends all subscriptions; no callback is in progress afterwards.
  void close();

  /// not_found: the filter names a run that is not there.
  Result<std::shared_ptr<Subscription::Body>> subscribe(const EventFilter& filter,
                                                        EventCallback callback);
  /// The run's history has grown. Costs next to nothing while nobody subscribes.
  void grown(const RunId& run);

 private:
  std::shared_ptr<SharedStore> store_;  // shared with the engine's other readers
  const Clock& clock_;
  Duration look_;
  std::atomic<bool> has_subscriptions_ = false;
  std::mutex mutex_;
  bool is_closed_ = false;
  std::vector<std::weak_ptr<Subscription::Body>> subscriptions_;  // owned by who subscribed
};

}  // namespace stagecall
