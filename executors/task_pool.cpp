#include "executors/task_pool.hpp"

#include "executors/cancelled.hpp"
#include "executors/task_pool_shared.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <variant>

namespace stagecall {
namespace {

constexpr Duration kWaitMax = std::chrono::hours{1};  // then it looks at the clock again
constexpr Duration kGraceMax = std::chrono::years{10};
constexpr Duration kTellWithin{20};  // that a call has begun

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
  outbox_.open(sink);
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
  std::unique_lock lock{mutex_};
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
  start_workers();
  // One wake-up for each that can be taken up now; who has ended one looks by himself. After the
  // lock, which is the first thing that the woken want.
  const std::size_t wanted = std::min(queued, waiting_);
  lock.unlock();
  for (std::size_t i = 0; i < wanted; ++i) {
    queue_filled_.notify_one();
  }
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
      break;
    }
  }
  lock.unlock();
  outbox_.flush();
}

/// The next attempt, which runs from now on; none if the pool closes. What was put is told before
/// it waits.
TaskPool::Shared::Item* TaskPool::Shared::take(std::unique_lock<std::mutex>& lock,
                                               Workers::iterator self) {
  while (true) {
    if (queue_.empty()) {
      lock.unlock();
      outbox_.flush();
      lock.lock();
      ++waiting_;
      queue_filled_.wait(lock, [this] { return is_closing_ || !queue_.empty(); });
      --waiting_;
    }
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
    tell_soon({item.first, SaysRunning{}});
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

/// With the next end, or by the watch if none comes: most calls are over sooner.
void TaskPool::Shared::tell_soon(AttemptReport report) {
  outbox_.put(std::move(report));
  if (!std::exchange(is_to_tell_, true)) {
    watch_changed_.notify_one();
  }
}

/// Requests stop tokens, gives up on the calls that do not heed them, and tells what nobody else
/// has told.
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
    } else if (is_to_tell_) {
      watch_changed_.wait_for(lock, bounded(time_to_give_up(), kTellWithin));
      is_to_tell_ = false;
      lock.unlock();
      outbox_.flush();
      lock.lock();
    } else if (give_ups_.empty()) {
      watch_changed_.wait(lock);
    } else if (const Duration left = time_to_give_up(); left > Duration{0}) {
      watch_changed_.wait_for(lock, bounded(left, kWaitMax));
    } else {
      give_up();
      is_to_tell_ = true;  // if there is no thread for the next, it has ended
    }
  }
}

/// Until the next grace is over.
Duration TaskPool::Shared::time_to_give_up() const {
  return give_ups_.empty() ? kWaitMax : give_ups_.begin()->first - clock_.boot();
}

void TaskPool::Shared::give_up() {
  while (time_to_give_up() <= Duration{0}) {
    Item& item = *give_ups_.begin()->second;
    give_ups_.erase(give_ups_.begin());
    item.second.give_up_at.reset();
    abandon(item);
  }
  start_workers();
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
  shared_->flush();
}

void TaskPool::cancel(std::vector<Cancel> cancels) {
  shared_->cancel(cancels);
  shared_->flush();
}

void TaskPool::query(std::vector<AttemptQuery> queries) {
  shared_->query(queries);
  shared_->flush();
}

void TaskPool::acknowledge(std::vector<AttemptKey> keys) {
  shared_->acknowledge(keys);
}

void TaskPool::close(Duration deadline) {
  shared_->close(deadline);
}

}  // namespace stagecall
