#include "executors/builtin_tasks.hpp"

#include "executors/cancelled.hpp"
#include "executors/recent_keys.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>

namespace stagecall {
namespace {

using std::chrono::steady_clock;

constexpr double kSecondsMax = 10 * 365.25 * 86'400;  // ten years, as every duration

/// None: the params say no such number.
std::optional<steady_clock::duration> sleep_length(const std::string& params) {
  const auto json = nlohmann::json::parse(params, nullptr, false);
  const auto seconds = json.is_object() ? json.find("seconds") : json.end();
  if (!json.is_object() || seconds == json.end() || !seconds->is_number()) {
    return std::nullopt;
  }
  const auto value = seconds->get<double>();
  if (!(value >= 0 && value <= kSecondsMax)) {
    return std::nullopt;
  }
  return std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>{value});
}

class BuiltinTasks final : public Executor {
 public:
  explicit BuiltinTasks(const Clock& clock) : clock_(clock) {}
  ~BuiltinTasks() override { close(Duration{0}); }

  std::string_view name() const override { return "task"; }

  Result<void> open(ReportSink& sink) override {
    sink_ = &sink;
    timer_ = std::thread{[this] { run_timer(); }};
    return {};
  }

  bool can_run(const NodeSpec& node) const override {
    const auto* task = std::get_if<TaskAction>(&node.action);
    return task != nullptr && (task->name == "noop" || task->name == "sleep");
  }

  void submit(std::vector<Launch> launches) override;
  void cancel(std::vector<Cancel> cancels) override;
  void query(std::vector<AttemptQuery> queries) override;
  void acknowledge(std::vector<AttemptKey> keys) override;
  void close(Duration deadline) override;

 private:
  using Moment = steady_clock::time_point;

  /// A sleep whose running has not been reported yet is not armed: its end comes after.
  struct Entry {
    std::optional<Moment> wakes_at{};
    std::optional<Outcome> outcome{};
  };
  using Entries = std::unordered_map<AttemptKey, Entry>;

  struct Plan {
    std::optional<Outcome> outcome{};  ///< ends at once
    steady_clock::duration length{};   ///< else sleeps so long
  };
  Plan plan_for(const Launch& launch) const;
  AttemptReport end(Entries::iterator entry, Outcome outcome);
  std::vector<AttemptReport> end_all(CancelReason reason);
  void arm(const AttemptKey& key, steady_clock::duration length);
  void run_timer();
  void report(std::vector<AttemptReport> reports);

  const Clock& clock_;
  ReportSink* sink_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closing_ = false;  ///< this and all below: under mutex_
  Entries entries_;
  /// By time; the keys stand in entries_.
  std::set<std::pair<Moment, const AttemptKey*>> alarms_;
  RecentKeys cancelled_early_{kRememberedKeys};
  RecentKeys acknowledged_{kRememberedKeys};

  std::thread timer_;
};

BuiltinTasks::Plan BuiltinTasks::plan_for(const Launch& launch) const {
  if (cancelled_early_.has(launch.key)) {
    return {.outcome = cancelled_outcome(CancelReason::stop)};
  }
  if (is_closing_ || launch.trusted_until <= clock_.boot()) {
    return {.outcome = not_launched_outcome()};
  }
  if (!can_run(*launch.node)) {
    return {.outcome = Outcome{.kind = OutcomeKind::rejected, .error = "not a built-in task"}};
  }
  if (std::get<TaskAction>(launch.node->action).name == "noop") {
    return {.outcome = Outcome{}};
  }
  if (const auto length = sleep_length(launch.node->params)) {
    return {.length = *length};
  }
  return {.outcome = Outcome{.kind = OutcomeKind::rejected,
                             .error = "task sleep: params must be {\"seconds\": a number from 0 to "
                                      "ten years}"}};
}

void BuiltinTasks::submit(std::vector<Launch> launches) {
  std::vector<AttemptReport> reports;
  std::vector<std::pair<AttemptKey, steady_clock::duration>> sleeps;
  {
    const std::lock_guard lock{mutex_};
    for (const Launch& launch : launches) {
      if (acknowledged_.has(launch.key)) {
        continue;
      }
      const auto [entry, is_new] = entries_.try_emplace(launch.key);
      if (!is_new) {
        continue;
      }
      Plan plan = plan_for(launch);
      if (plan.outcome) {
        reports.push_back(end(entry, *std::move(plan.outcome)));
      } else {
        reports.push_back({launch.key, SaysRunning{}});
        sleeps.emplace_back(launch.key, plan.length);
      }
    }
  }
  report(std::move(reports));
  for (const auto& [key, length] : sleeps) {
    arm(key, length);
  }
}

void BuiltinTasks::arm(const AttemptKey& key, steady_clock::duration length) {
  const std::lock_guard lock{mutex_};
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.outcome) {
    return;  // cancelled from within the report
  }
  entry->second.wakes_at = steady_clock::now() + length;
  const auto alarm = alarms_.emplace(*entry->second.wakes_at, &entry->first).first;
  if (alarm == alarms_.begin()) {
    changed_.notify_one();
  }
}

void BuiltinTasks::cancel(std::vector<Cancel> cancels) {
  std::vector<AttemptReport> reports;
  {
    const std::lock_guard lock{mutex_};
    for (const Cancel& each : cancels) {
      const auto entry = entries_.find(each.key);
      if (entry == entries_.end()) {
        cancelled_early_.add(each.key);
      } else if (!entry->second.outcome) {
        reports.push_back(end(entry, cancelled_outcome(each.reason)));
      }
    }
  }
  report(std::move(reports));
}

void BuiltinTasks::query(std::vector<AttemptQuery> queries) {
  std::vector<AttemptReport> reports;
  {
    const std::lock_guard lock{mutex_};
    for (const AttemptQuery& each : queries) {
      const auto entry = entries_.find(each.key);
      if (entry == entries_.end()) {
        reports.push_back({each.key, SaysAbsent{.proven = !each.is_own}});
      } else if (entry->second.outcome) {
        reports.push_back({each.key, SaysEnded{*entry->second.outcome}});
      } else {
        reports.push_back({each.key, SaysAlive{}});
      }
    }
  }
  report(std::move(reports));
}

void BuiltinTasks::acknowledge(std::vector<AttemptKey> keys) {
  const std::lock_guard lock{mutex_};
  for (const AttemptKey& key : keys) {
    const auto entry = entries_.find(key);
    if (entry != entries_.end() && entry->second.outcome) {
      entries_.erase(entry);
      acknowledged_.add(key);
    }
  }
}

void BuiltinTasks::close(Duration) {
  if (!timer_.joinable()) {
    return;
  }
  std::vector<AttemptReport> reports;
  {
    const std::lock_guard lock{mutex_};
    is_closing_ = true;
    reports = end_all(CancelReason::drain);
    changed_.notify_one();
  }
  report(std::move(reports));
  timer_.join();
}

AttemptReport BuiltinTasks::end(Entries::iterator entry, Outcome outcome) {
  if (entry->second.wakes_at) {
    alarms_.erase({*entry->second.wakes_at, &entry->first});
    entry->second.wakes_at.reset();
  }
  entry->second.outcome = outcome;
  return {entry->first, SaysEnded{std::move(outcome)}};
}

std::vector<AttemptReport> BuiltinTasks::end_all(CancelReason reason) {
  std::vector<AttemptReport> reports;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->second.outcome) {
      reports.push_back(end(entry, cancelled_outcome(reason)));
    }
  }
  return reports;
}

void BuiltinTasks::run_timer() {
  std::unique_lock lock{mutex_};
  while (!is_closing_) {
    if (alarms_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Moment now = steady_clock::now();
    std::vector<AttemptReport> reports;
    while (!alarms_.empty() && alarms_.begin()->first <= now) {
      reports.push_back(end(entries_.find(*alarms_.begin()->second), Outcome{}));
    }
    if (reports.empty()) {
      // A copy: the alarm may be gone when the wait ends.
      const Moment next = alarms_.begin()->first;
      changed_.wait_until(lock, next);
      continue;
    }
    lock.unlock();
    report(std::move(reports));
    lock.lock();
  }
}

void BuiltinTasks::report(std::vector<AttemptReport> reports) {
  if (!reports.empty()) {
    sink_->report(std::move(reports));
  }
}

}  // namespace

std::unique_ptr<Executor> make_builtin_tasks(const Clock& clock) {
  return std::make_unique<BuiltinTasks>(clock);
}

}  // namespace stagecall
