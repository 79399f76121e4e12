#include "executors/report_outbox.hpp"

#include <utility>

namespace stagecall {

void ReportOutbox::open(ReportSink& sink) {
  const std::lock_guard lock{mutex_};
  sink_ = &sink;
  is_open_ = true;
}

void ReportOutbox::put(AttemptReport report) {
  const std::lock_guard lock{mutex_};
  if (is_open_) {
    waiting_.push_back(std::move(report));
  }
}

void ReportOutbox::put_progress(const AttemptKey& key, double fraction, ProgressPlace& place) {
  const std::lock_guard lock{mutex_};
  if (!is_open_) {
    return;
  }
  if (place.batch == batch_) {
    waiting_[place.index].news = SaysProgress{fraction};
    return;
  }
  place = {.batch = batch_, .index = waiting_.size()};
  waiting_.push_back({key, SaysProgress{fraction}});
}

void ReportOutbox::flush() {
  std::unique_lock lock{mutex_};
  if (!is_delivering_) {
    deliver(lock);
  }
}

void ReportOutbox::close() {
  std::unique_lock lock{mutex_};
  is_open_ = false;
  delivered_.wait(lock, [this] { return !is_delivering_; });
  deliver(lock);
}

void ReportOutbox::deliver(std::unique_lock<std::mutex>& lock) {
  is_delivering_ = true;
  while (!waiting_.empty()) {
    std::vector<AttemptReport> batch = std::exchange(waiting_, {});
    ++batch_;
    lock.unlock();
    sink_->report(std::move(batch));
    lock.lock();
  }
  is_delivering_ = false;
  delivered_.notify_all();
}

}  // namespace stagecall
