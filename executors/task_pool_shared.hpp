// What the threads of a task pool share: its queue, its attempts, and the rules between them.
#pragma once

#include "executors/recent_keys.hpp"
#include "executors/report_outbox.hpp"
#include "executors/task_call.hpp"
#include "executors/task_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecall {

/// Everything but the handle. An attempt waits in the queue, or a worker runs it, or it is
/// abandoned, or it has ended; that and its news change together, under one mutex.
class TaskPool::Shared : public std::enable_shared_from_this<Shared> {
 public:
  Shared(const Clock& clock, unsigned threads_max)
      : clock_(clock), threads_max_(std::max(threads_max, 1U)) {}

  Result<void> add(std::string name, Task task);
  std::size_t abandoned() const;
  Result<void> open(ReportSink& sink);
  bool can_run(const NodeSpec& node) const;
  void submit(std::vector<Launch> launches);
  void cancel(const std::vector<Cancel>& cancels);
  void query(const std::vector<AttemptQuery>& queries);
  void acknowledge(const std::vector<AttemptKey>& keys);
  void close(Duration deadline);
  /// Tells what has been put; without the lock.
  void flush() { outbox_.flush(); }

 private:
  struct Entry;
  using Item = std::pair<const AttemptKey, Entry>;
  using Queue = std::list<Item*>;
  using Workers = std::list<std::thread>;
  struct Entry {
    std::unique_ptr<TaskCall> call{};           ///< until it has ended
    std::optional<Queue::iterator> place{};     ///< while it waits
    std::optional<Workers::iterator> worker{};  ///< while it runs, unless abandoned
    std::optional<BootTime> give_up_at{};       ///< once told to end
    std::optional<SaysEnded> end{};
  };

  const Task* task_of(const NodeSpec& node) const;
  std::optional<Outcome> refusal_of(const Launch& launch) const;
  void end(Item& item, SaysEnded news);
  void tell_to_end(Item& item, CancelReason reason);
  void abandon(Item& item);
  void start_workers();
  void work(Workers::iterator self);
  Item* take(std::unique_lock<std::mutex>& lock, Workers::iterator self);
  bool settle(Item& item);
  void tell_soon(AttemptReport report);
  Duration time_to_give_up() const;
  void give_up();
  void watch();
  std::vector<std::thread> leave();

  const Clock& clock_;  // not looked at once closed
  const std::size_t threads_max_;
  ReportOutbox outbox_;  // has a mutex of its own, taken last

  mutable std::mutex mutex_;  // of all below
  std::condition_variable queue_filled_;
  std::condition_variable watch_changed_;
  std::condition_variable settled_;
  bool is_open_ = false;
  bool is_closing_ = false;  // nothing is taken up any more
  bool is_closed_ = false;
  std::map<std::string, Task> tasks_;  // none is ever removed
  std::unordered_map<AttemptKey, Entry> entries_;
  Queue queue_;
  Workers workers_;
  std::size_t running_ = 0;    // workers within a call
  std::size_t waiting_ = 0;    // workers that wait for the queue
  std::size_t abandoned_ = 0;  // calls without a worker
  std::vector<std::stop_source> untold_;
  bool is_telling_ = false;                        // the watch runs stop callbacks
  std::set<std::pair<BootTime, Item*>> give_ups_;  // of the calls told to end
  bool is_to_tell_ = false;                        // the watch, unless somebody has before
  RecentKeys cancelled_early_{kRememberedKeys};
  RecentKeys acknowledged_{kRememberedKeys};
  std::thread watch_;
};

}  // namespace stagecall
