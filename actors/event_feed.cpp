#include "actors/event_feed.hpp"

#include "actors/subscription.hpp"

#include <utility>

namespace stagecall {

EventFeed::EventFeed(std::shared_ptr<SharedStore> store, const Clock& clock, Duration look)
    : store_(std::move(store)), clock_(clock), look_(look) {}

void EventFeed::close() {
  // A callback in progress may wait for its turn to subscribe: the lock must not be held meanwhile.
  std::vector<std::weak_ptr<Subscription::Body>> all;
  {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    all = subscriptions_;
  }
  for (const auto& weak : all) {
    if (const auto subscription = weak.lock()) {
      subscription->end();
    }
  }
}

Result<std::shared_ptr<Subscription::Body>> EventFeed::subscribe(const EventFilter& filter,
                                                                 EventCallback callback) {
  auto subscription =
      std::make_shared<Subscription::Body>(filter, std::move(callback), store_, clock_, look_);
  {
    // Known before it looks where to begin, so that it hears of what comes meanwhile.
    const std::lock_guard lock{mutex_};
    if (is_closed_) {
      return fail(ErrorCode::store_unavailable, "subscribe: the engine is closing");
    }
    std::erase_if(subscriptions_, [](const auto& weak) { return weak.expired(); });
    subscriptions_.push_back(subscription);
    has_subscriptions_ = true;
  }
  if (auto placed = subscription->place(); !placed) {
    return tl::unexpected<Error>{std::move(placed).error()};
  }
  if (auto started = subscription->start(); !started) {
    return tl::unexpected<Error>{std::move(started).error()};
  }
  return subscription;
}

void EventFeed::grown(const RunId& run) {
  if (!has_subscriptions_) {
    return;
  }
  // One may be the last reference: with it goes what the host's callback holds, so without the
  // lock.
  std::vector<std::shared_ptr<Subscription::Body>> all;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& weak : subscriptions_) {
      if (auto subscription = weak.lock()) {
        all.push_back(std::move(subscription));
      }
    }
    has_subscriptions_ = !all.empty();
  }
  for (const auto& subscription : all) {
    subscription->grown(run);
  }
}

}  // namespace stagecall
