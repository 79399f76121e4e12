// Collects what an executor reports, for tests to wait on.
#pragma once

#include "stagecall/executor.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stagecall::testing {

class ReportLog final : public ReportSink {
 public:
  void report(std::vector<AttemptReport> reports) override {
    const std::lock_guard lock{mutex_};
    for (AttemptReport& each : reports) {
      reports_.push_back(std::move(each));
    }
    ++calls_;
    changed_.notify_all();
  }

  /// All news of the key so far, in order.
  std::vector<AttemptNews> of(const AttemptKey& key) const {
    const std::lock_guard lock{mutex_};
    std::vector<AttemptNews> news;
    for (const AttemptReport& each : reports_) {
      if (each.key == key) {
        news.push_back(each.news);
      }
    }
    return news;
  }

  /// The first news of this kind for the key; none within a bound that only a defect reaches.
  template <class News>
  std::optional<News> wait_for(const AttemptKey& key) {
    std::optional<News> found;
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, std::chrono::seconds{60}, [&] {
      for (const AttemptReport& each : reports_) {
        if (const auto* news = std::get_if<News>(&each.news); news != nullptr && each.key == key) {
          found = *news;
          return true;
        }
      }
      return false;
    });
    return found;
  }

  /// Forgets what came so far.
  void clear() {
    const std::lock_guard lock{mutex_};
    reports_.clear();
  }

  std::size_t calls() const {
    const std::lock_guard lock{mutex_};
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AttemptReport> reports_;
  std::size_t calls_ = 0;
};

}  // namespace stagecall::testing
