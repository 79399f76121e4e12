#include "executors/report_outbox.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace stagecall {

Result<void> ReportOutbox::open(ReportSink& sink) {
  const std::lock_guard lock{mutex_};
  try {
    reporter_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& error) {
    return fail(ErrorCode::executor_unavailable,
                std::string{"cannot start the thread that reports: "} + error.what());
  }
  sink_ = &sink;
  is_open_ = true;
  return {};
}

void ReportOutbox::put(AttemptReport report) {
  const std::lock_guard lock{mutex_};
  if (is_open_) {
    add(std::move(report));
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
  add({key, SaysProgress{fraction}});
}

void ReportOutbox::add(AttemptReport report) {
  waiting_.push_back(std::move(report));
  if (waiting_.size() == 1) {
    changed_.notify_one();
  }
}

void ReportOutbox::close() {
  {
    const std::lock_guard lock{mutex_};
    is_open_ = false;
    changed_.notify_one();
  }
  if (reporter_.joinable()) {
    reporter_.join();
  }
}

void ReportOutbox::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [this] { return !waiting_.empty() || !is_open_; });
    if (waiting_.empty()) {
      return;
    }
    std::vector<AttemptReport> batch = std::exchange(waiting_, {});
    ++batch_;
    lock.unlock();
    sink_->report(std::move(batch));
    lock.lock();
  }
}

}  // namespace stagecall
