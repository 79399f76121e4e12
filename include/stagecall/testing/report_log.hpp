// Collects what an executor reports, for tests to wait on.
#pragma once

#include "stagecall/executor.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace stagecall::testing {

/// Any thread.
class ReportLog final : public ReportSink {
 public:
  /// Keeps them and wakes who waits.
  void report(std::vector<AttemptReport> reports) override {
    const std::lock_guard lock{mutex_};
    for (AttemptReport& each : reports) {
      news_[each.key].push_back(std::move(each.news));
    }
    ++calls_;
    changed_.notify_all();
  }

  /// All news of the key so far, in order.
  std::vector<AttemptNews> of(const AttemptKey& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = news_.find(key);
    return found != news_.end() ? found->second : std::vector<AttemptNews>{};
  }

  /// The first news of the key that is accepted, the first `from` left out; none within the bound.
  template <class Accepts>
  std::optional<AttemptNews> wait_until(const AttemptKey& key, Accepts accepts,
                                        std::size_t from = 0, Duration bound = kBound) {
    std::optional<AttemptNews> found;
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, bound, [&] {
      const std::vector<AttemptNews>& all = news_[key];
      for (std::size_t i = from; i < all.size() && !found; ++i) {
        if (accepts(all[i])) {
          found = all[i];
        }
      }
      return found.has_value();
    });
    return found;
  }

  /// The first news of this kind for the key; none within a bound that only a defect reaches.
  template <class News>
  std::optional<News> wait_for(const AttemptKey& key) {
    const auto found =
        wait_until(key, [](const AttemptNews& news) { return std::holds_alternative<News>(news); });
    return found ? std::optional<News>{std::get<News>(*found)} : std::nullopt;
  }

  /// Forgets what came so far.
  void clear() {
    const std::lock_guard lock{mutex_};
    news_.clear();
  }

  /// How often the sink was called.
  std::size_t calls() const {
    const std::lock_guard lock{mutex_};
    return calls_;
  }

 private:
  static constexpr Duration kBound{60'000};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<AttemptKey, std::vector<AttemptNews>> news_;
  std::size_t calls_ = 0;
};

}  // namespace stagecall::testing
