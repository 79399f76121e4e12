#include "actors/event_feed.hpp"

#include "actors/subscription.hpp"

#include <utility>

namespace stagecall {

EventFeed::EventFeed(std::shared_ptr<SharedStore> store, Duration look)
    : store_(std::move(store)), look_(look) {}

void EventFeed::close() {
  // A callback in progress may wait for its turn to subscribe: the lock must not be held meanwhile.
  std::vector<std::weak_ptr<Subscription::Body>> all;
  {
    const std::lock_guard lock{mutex_};
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
      std::make_shared<Subscription::Body>(filter, std::move(callback), store_, look_);
  {
    // Known before it looks where to begin, so that it hears of what comes meanwhile.
    const std::lock_guard lock{mutex_};
    std::erase_if(subscriptions_, [](const auto& weak) { return weak.expired(); });
    subscriptions_.push_back(subscription);
    has_subscriptions_ = true;
  }
  if (auto placed = subscription->place(); !placed) {
    return tl::unexpected<Error>{std::move(placed).error()};
  }
  subscription->start();
  return subscription;
}

void EventFeed::grown(const RunId& run) {
  if (!has_subscriptions_) {
    return;
  }
  const std::lock_guard lock{mutex_};
  for (const auto& weak : subscriptions_) {
    if (const auto subscription = weak.lock()) {
      subscription->grown(run);
    }
  }
}

}  // namespace stagecall
