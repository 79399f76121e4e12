#include "executors/task_pool.hpp"

#include "executors/cancelled.hpp"
#include "executors/recent_keys.hpp"
#include "executors/report_outbox.hpp"
#include "executors/task_call.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>

namespace stagecall {
namespace {

constexpr Duration kWaitMax = std::chrono::hours{1};  // then it looks at the clock again
constexpr Duration kGraceMax = std::chrono::years{10};

Duration bounded(Duration wait, Duration wait_max) {
  return std::clamp(wait, Duration{0}, wait_max);
}

std::optional<std::string> fault_of_name(const std::string& name) {
  if (name.empty()) {
    return "is empty";
  }
  if (name.size() > kLimits.id_bytes_max) {
    return "has " + std::to_string(name.size()) + " bytes";
  }
  const auto is_control = [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; };
  if (std::ranges::any_of(name, is_control)) {
    return "holds a control character";
  }
  return std::nullopt;
}

}  // namespace

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
  RecentKeys cancelled_early_{kRememberedKeys};
  RecentKeys acknowledged_{kRememberedKeys};
  std::thread watch_;
};

Result<void> TaskPool::Shared::add(std::string name, Task task) {
  const auto refuse = [](const std::string& text) {
    return fail(ErrorCode::invalid_argument, "cannot register a task: " + text);
  };
  if (const auto fault = fault_of_name(name)) {
    return refuse("its name " + *fault + "; allowed are 1 to " +
                  std::to_string(kLimits.id_bytes_max) + " bytes without control characters");
  }
  if (!task) {
    return refuse("\"" + name + "\" has nothing to call");
  }
  const std::lock_guard lock{mutex_};
  if (tasks_.contains(name)) {
    return refuse("the name \"" + name + "\" is taken");
  }
  tasks_.emplace(std::move(name), std::move(task));
  return {};
}

std::size_t TaskPool::Shared::abandoned() const {
  const std::lock_guard lock{mutex_};
  return abandoned_;
}

Result<void> TaskPool::Shared::open(ReportSink& sink) {
  if (auto opened = outbox_.open(sink); !opened) {
    return opened;
  }
  const std::lock_guard lock{mutex_};
  try {
    watch_ = std::thread{[self = shared_from_this()] { self->watch(); }};
  } catch (const std::system_error& error) {
    outbox_.close();
    return fail(ErrorCode::executor_unavailable,
                std::string{"cannot start the thread that watches tasks: "} + error.what());
  }
  is_open_ = true;
  return {};
}

const Task* TaskPool::Shared::task_of(const NodeSpec& node) const {
  const auto* action = std::get_if<TaskAction>(&node.action);
  const auto found = action != nullptr ? tasks_.find(action->name) : tasks_.end();
  return found != tasks_.end() ? &found->second : nullptr;
}

bool TaskPool::Shared::can_run(const NodeSpec& node) const {
  const std::lock_guard lock{mutex_};
  return task_of(node) != nullptr;
}

std::optional<Outcome> TaskPool::Shared::refusal_of(const Launch& launch) const {
  if (cancelled_early_.has(launch.key)) {
    return cancelled_outcome(CancelReason::stop);
  }
  if (!is_open_ || is_closing_ || launch.trusted_until <= clock_.boot()) {
    return not_launched_outcome();
  }
  if (task_of(*launch.node) == nullptr) {
    return Outcome{.kind = OutcomeKind::rejected, .error = "no such task is registered here"};
  }
  return std::nullopt;
}

void TaskPool::Shared::submit(std::vector<Launch> launches) {
  const std::lock_guard lock{mutex_};
  std::size_t queued = 0;
  for (Launch& launch : launches) {
    if (acknowledged_.has(launch.key)) {
      continue;
    }
    const auto [found, is_new] = entries_.try_emplace(launch.key);
    if (!is_new) {
      continue;
    }
    if (auto refusal = refusal_of(launch)) {
      end(*found, {*std::move(refusal)});
      continue;
    }
    const Task& task = *task_of(*launch.node);
    found->second.call = std::make_unique<TaskCall>(std::move(launch), task, outbox_);
    found->second.place = queue_.insert(queue_.end(), &*found);
    ++queued;
  }
  // One wake-up for each that can be taken up now; who has ended one looks by himself.
  for (std::size_t i = 0; i < std::min(queued, waiting_); ++i) {
    queue_filled_.notify_one();
  }
  start_workers();
}

void TaskPool::Shared::cancel(const std::vector<Cancel>& cancels) {
  const std::lock_guard lock{mutex_};
  for (const Cancel& each : cancels) {
    const auto found = entries_.find(each.key);
    if (found == entries_.end()) {
      cancelled_early_.add(each.key);
      continue;
    }
    const bool was_told = found->second.call && found->second.call->stop_reason();
    tell_to_end(*found, each.reason);
    if (!was_told && !found->second.end) {
      found->second.give_up_at = clock_.boot() + bounded(each.grace, kGraceMax);
      give_ups_.emplace(*found->second.give_up_at, &*found);
    }
  }
}

void TaskPool::Shared::query(const std::vector<AttemptQuery>& queries) {
  const std::lock_guard lock{mutex_};
  for (const AttemptQuery& each : queries) {
    const auto found = entries_.find(each.key);
    if (found == entries_.end()) {
      outbox_.put({each.key, SaysAbsent{.proven = !each.is_own}});
    } else if (found->second.end) {
      outbox_.put({each.key, *found->second.end});
    } else {
      outbox_.put({each.key, SaysAlive{}});
    }
  }
}

void TaskPool::Shared::acknowledge(const std::vector<AttemptKey>& keys) {
  const std::lock_guard lock{mutex_};
  for (const AttemptKey& key : keys) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.end) {
      entries_.erase(found);
      acknowledged_.add(key);
    }
  }
}

void TaskPool::Shared::close(Duration deadline) {
  std::unique_lock lock{mutex_};
  is_closing_ = true;
  if (!is_open_ || is_closed_) {
    return;
  }
  for (Item& item : entries_) {
    tell_to_end(item, CancelReason::drain);
  }
  queue_filled_.notify_all();
  settled_.wait_for(lock, bounded(deadline, kGraceMax),
                    [this] { return running_ == 0 && untold_.empty() && !is_telling_; });
  std::vector<std::thread> threads = leave();
  lock.unlock();
  for (std::thread& thread : threads) {
    thread.join();
  }
  outbox_.close();
}

/// Abandons what still runs. The threads that end by themselves, to be waited for.
std::vector<std::thread> TaskPool::Shared::leave() {
  is_closed_ = true;
  watch_changed_.notify_one();
  for (Item& item : entries_) {
    if (item.second.worker) {
      abandon(item);
    }
  }
  std::vector<std::thread> threads;
  std::ranges::move(workers_, std::back_inserter(threads));
  // A stop callback of the host's may be what does not return.
  if (is_telling_ || !untold_.empty()) {
    watch_.detach();
  } else {
    threads.push_back(std::move(watch_));
  }
  return threads;
}

void TaskPool::Shared::end(Item& item, SaysEnded news) {
  Entry& entry = item.second;
  if (entry.place) {
    queue_.erase(*entry.place);
    entry.place.reset();
  }
  if (entry.give_up_at) {
    give_ups_.erase({*entry.give_up_at, &item});
    entry.give_up_at.reset();
  }
  entry.call.reset();
  outbox_.put({item.first, news});
  entry.end = std::move(news);
}

/// What waits ends at once. What runs is told by the watch: stop callbacks are the host's code, and
/// whoever calls the pool is not to wait for them.
void TaskPool::Shared::tell_to_end(Item& item, CancelReason reason) {
  const Entry& entry = item.second;
  if (entry.end || entry.call->stop_reason()) {
    return;
  }
  if (entry.place) {
    end(item, {cancelled_outcome(reason)});
    return;
  }
  entry.call->set_stop_reason(reason);
  untold_.push_back(entry.call->stop_source());
  watch_changed_.notify_one();
}

/// Its thread is the pool's no longer: another may take its place.
void TaskPool::Shared::abandon(Item& item) {
  const Workers::iterator worker = *item.second.worker;
  item.second.worker.reset();
  worker->detach();
  workers_.erase(worker);
  ++abandoned_;
  --running_;
  settled_.notify_one();
}

/// As many as there are attempts that no worker is free for. Without any thread, and none to be
/// had, attempts fail instead of waiting for what may never come.
void TaskPool::Shared::start_workers() {
  while (workers_.size() < threads_max_ && workers_.size() - running_ < queue_.size()) {
    const auto worker = workers_.emplace(workers_.end());
    try {
      *worker = std::thread{[self = shared_from_this(), worker] { self->work(worker); }};
    } catch (const std::system_error& error) {
      workers_.erase(worker);
      while (workers_.empty() && !queue_.empty()) {
        end(*queue_.front(), {{.kind = OutcomeKind::failed,
                               .error = std::string{"cannot start a thread: "} + error.what()}});
      }
      return;
    }
  }
}

void TaskPool::Shared::work(Workers::iterator self) {
  std::unique_lock lock{mutex_};
  while (Item* item = take(lock, self)) {
    TaskCall& call = *item->second.call;
    lock.unlock();
    call.run();
    lock.lock();
    if (!settle(*item)) {
      return;
    }
  }
}

/// The next attempt, which runs from now on; none if the pool closes.
TaskPool::Shared::Item* TaskPool::Shared::take(std::unique_lock<std::mutex>& lock,
                                               Workers::iterator self) {
  while (true) {
    ++waiting_;
    queue_filled_.wait(lock, [this] { return is_closing_ || !queue_.empty(); });
    --waiting_;
    if (queue_.empty()) {
      return nullptr;
    }
    Item& item = *queue_.front();
    if (item.second.call->launch().trusted_until <= clock_.boot()) {
      end(item, {not_launched_outcome()});
      continue;
    }
    queue_.pop_front();
    item.second.place.reset();
    item.second.worker = self;
    ++running_;
    outbox_.put({item.first, SaysRunning{}});
    return &item;
  }
}

/// The call has returned. Whether its thread is still the pool's.
bool TaskPool::Shared::settle(Item& item) {
  const bool is_worker = item.second.worker.has_value();
  item.second.worker.reset();
  end(item, item.second.call->end());
  if (!is_worker) {
    --abandoned_;
    return false;
  }
  --running_;
  if (is_closing_) {
    settled_.notify_one();
  }
  return true;
}

/// Requests stop tokens, and gives up on the calls that do not heed them.
void TaskPool::Shared::watch() {
  std::unique_lock lock{mutex_};
  while (true) {
    if (!untold_.empty()) {
      std::vector<std::stop_source> told = std::exchange(untold_, {});
      is_telling_ = true;
      lock.unlock();
      for (std::stop_source& each : told) {
        each.request_stop();
      }
      told.clear();
      lock.lock();
      is_telling_ = false;
      settled_.notify_one();
    } else if (is_closed_) {
      return;
    } else if (give_ups_.empty()) {
      watch_changed_.wait(lock);
    } else if (const Duration left = give_ups_.begin()->first - clock_.boot(); left > Duration{0}) {
      watch_changed_.wait_for(lock, bounded(left, kWaitMax));
    } else {
      Item& item = *give_ups_.begin()->second;
      give_ups_.erase(give_ups_.begin());
      item.second.give_up_at.reset();
      abandon(item);
      start_workers();
    }
  }
}

TaskPool::TaskPool(const Clock& clock, unsigned threads_max)
    : shared_(std::make_shared<Shared>(clock, threads_max)) {}

TaskPool::~TaskPool() {
  shared_->close(Duration{0});
}

Result<void> TaskPool::add(std::string name, Task task) {
  return shared_->add(std::move(name), std::move(task));
}

std::size_t TaskPool::abandoned() const {
  return shared_->abandoned();
}

Result<void> TaskPool::open(ReportSink& sink) {
  return shared_->open(sink);
}

bool TaskPool::can_run(const NodeSpec& node) const {
  return shared_->can_run(node);
}

void TaskPool::submit(std::vector<Launch> launches) {
  shared_->submit(std::move(launches));
}

void TaskPool::cancel(std::vector<Cancel> cancels) {
  shared_->cancel(cancels);
}

void TaskPool::query(std::vector<AttemptQuery> queries) {
  shared_->query(queries);
}

void TaskPool::acknowledge(std::vector<AttemptKey> keys) {
  shared_->acknowledge(keys);
}

void TaskPool::close(Duration deadline) {
  shared_->close(deadline);
}

}  // namespace stagecall
