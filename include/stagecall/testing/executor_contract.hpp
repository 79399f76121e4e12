// What executor.hpp promises, checked on an executor: a host that wrote its own calls
// check_executor() in a test of whatever framework and wants no failures. Waits for reports, within
// a bound; never for time to pass.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/testing/report_log.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stagecall::testing {

/// The executor to be checked.
struct ExecutorSubject {
  /// A fresh one, open on the sink. Called for each check; the one before is destroyed by then.
  std::function<Result<std::unique_ptr<Executor>>(ReportSink& sink)> open;
  NodeSpec quick;    ///< it runs this, which succeeds soon
  NodeSpec endless;  ///< and this, which runs until it is told to end, and then ends soon
  std::string incarnation = "ours";  ///< of the engine that it is told to work for
  bool says_running = true;          ///< it reports SaysRunning for `endless`
  bool dies_with_process = false;    ///< its attempts end with their process, as those of threads
  Duration patience{30'000};         ///< what has not been reported by then is a failure
};

/// A key that no other call returns.
inline AttemptKey next_key(std::string node = "node") {
  static std::atomic<std::uint64_t> nonce{1};
  return {{"pipeline", 1}, std::move(node), Attempt{1}, Nonce{nonce++}};
}

/// A launch that is trusted forever.
inline Launch launch_of(NodeSpec node, AttemptKey key = next_key()) {
  return {.key = std::move(key),
          .node = std::make_shared<const NodeSpec>(std::move(node)),
          .term = Term{7},
          .trusted_until = BootTime::max()};
}

/// The broken promises, each with what was expected and what was reported instead; empty = none.
/// After the first one of a check the rest of that check is left out. Blocks for at most the
/// subject's patience for each promise. Any thread.
inline std::vector<std::string> check_executor(const ExecutorSubject& subject);

/// What news says, in a few words: `ended failed (exit 3)`.
inline std::string text_of(const AttemptNews& news) {
  struct Words {
    std::string operator()(const SaysRunning&) const { return "running"; }
    std::string operator()(const SaysAlive&) const { return "alive"; }
    std::string operator()(const SaysUnknown&) const { return "unknown"; }
    std::string operator()(const SaysAbsent& says) const {
      return says.proven ? "absent, proven" : "absent";
    }
    std::string operator()(const SaysProgress& says) const {
      return "progress " + std::to_string(says.fraction);
    }
    std::string operator()(const SaysEnded& says) const {
      const std::string& error = says.outcome.error;
      return "ended " + std::string{name_of(says.outcome.kind)} +
             (error.empty() ? "" : " (" + error + ")") +
             (says.output.empty() ? "" : " with output " + says.output);
    }
  };
  return std::visit(Words{}, news);
}

namespace executor_contract_detail {

struct BrokenPromise {
  std::string text;
};

inline std::string listed(const std::vector<AttemptNews>& all) {
  std::string text;
  for (const AttemptNews& each : all) {
    text += (text.empty() ? "" : "; ") + text_of(each);
  }
  return text.empty() ? "nothing" : text;
}

inline bool is_end(const AttemptNews& news) {
  return std::holds_alternative<SaysEnded>(news);
}

/// One fresh executor and what is asked of it. The first broken promise is thrown.
class Trial {
  ReportLog log_;  // outlives the executor

 public:
  explicit Trial(const ExecutorSubject& checked) : subject(checked) {
    auto opened = checked.open(log_);
    if (!opened || *opened == nullptr) {
      throw BrokenPromise{"open succeeds: expected an executor, saw " +
                          (opened ? "none" : "the error \"" + opened.error().message + '"')};
    }
    executor = *std::move(opened);
  }

  const ExecutorSubject& subject;
  std::unique_ptr<Executor> executor;

  /// Submits it under a new key.
  AttemptKey start(const NodeSpec& node) const {
    const Launch launch = launch_of(node);
    executor->submit({launch});
    return launch.key;
  }

  void check(bool is_kept, std::string_view promise, const AttemptKey& key,
             const std::string& expected) const {
    if (!is_kept) {
      throw BrokenPromise{std::string{promise} + ": expected " + expected + " of " + key.text() +
                          ", saw " + listed(log_.of(key))};
    }
  }

  /// The key's next news, its first `from` left out, that is no SaysRunning and no SaysProgress.
  AttemptNews await(std::string_view promise, const AttemptKey& key, const std::string& expected,
                    std::size_t from = 0) {
    const auto says_more = [](const AttemptNews& news) {
      return !std::holds_alternative<SaysRunning>(news) &&
             !std::holds_alternative<SaysProgress>(news);
    };
    const auto found = log_.wait_until(key, says_more, from, subject.patience);
    check(found.has_value(), promise, key, expected);
    return *found;
  }

  SaysEnded await_end(std::string_view promise, const AttemptKey& key, OutcomeKind kind) {
    const std::string expected = "ended " + std::string{name_of(kind)};
    const auto found = log_.wait_until(key, is_end, 0, subject.patience);
    check(found.has_value(), promise, key, expected);
    const auto* end = std::get_if<SaysEnded>(&*found);
    check(end->outcome.kind == kind, promise, key, expected);
    check(kind == OutcomeKind::succeeded || !end->outcome.error.empty(),
          "an end that is no success says why, for people", key, expected + " with an error text");
    return *end;
  }

  std::size_t count(const AttemptKey& key) const { return log_.of(key).size(); }

  bool has_ended(const AttemptKey& key) const { return std::ranges::any_of(log_.of(key), is_end); }

  void await_running(const AttemptKey& key) {
    if (subject.says_running) {
      const auto found = log_.wait_until(
          key, [](const AttemptNews& news) { return std::holds_alternative<SaysRunning>(news); }, 0,
          subject.patience);
      check(found.has_value(), "an attempt that runs is reported running", key, "running");
    }
  }

  /// Asks, and wants exactly this answer.
  void check_answer(std::string_view promise, const AttemptKey& key, const AttemptNews& expected,
                    bool is_own = true) {
    const std::size_t before = count(key);
    executor->query({{key, is_own ? subject.incarnation : "gone", is_own}});
    const AttemptNews answer = await(promise, key, text_of(expected), before);
    check(answer == expected, promise, key, text_of(expected));
  }

  /// Nothing of the key ran, however often it was submitted.
  void check_unlaunched(std::string_view promise, const AttemptKey& key) const {
    const auto all = log_.of(key);
    const bool ran = std::ranges::any_of(all, [](const AttemptNews& news) {
      return std::holds_alternative<SaysRunning>(news) ||
             std::holds_alternative<SaysProgress>(news);
    });
    check(!ran, promise, key, "no running and no progress");
  }

  /// Ran at most once, and had one end.
  void check_history(const AttemptKey& key) const {
    const auto all = log_.of(key);
    const auto runs = std::ranges::count(all, AttemptNews{SaysRunning{}});
    check(runs <= 1, "a second submit of a key launches nothing", key, "running but once");
    const auto end = std::ranges::find_if(all, is_end);
    check(std::all_of(end, all.end(),
                      [&](const AttemptNews& news) {
                        return news == *end || std::holds_alternative<SaysAbsent>(news);
                      }),
          "an attempt ends once, and nothing of it runs afterwards", key,
          "its first end only, then absent");
  }

  /// No report comes later than its return, not even from a destructor.
  void close() {
    executor->close(kCloseDeadline);
    const std::size_t before = log_.calls();
    executor.reset();
    if (log_.calls() != before) {
      throw BrokenPromise{"after close the sink is not called any more: expected " +
                          std::to_string(before) + " calls, saw " + std::to_string(log_.calls())};
    }
  }

  /// Closes; nothing comes after that, so that what did not happen can be told. The promise is that
  /// none of these was launched, if there is one.
  void close_and_check(const std::vector<AttemptKey>& keys, std::string_view unlaunched = {}) {
    close();
    for (const AttemptKey& key : keys) {
      if (!unlaunched.empty()) {
        check_unlaunched(unlaunched, key);
      }
      check_history(key);
    }
  }

 private:
  static constexpr Duration kCloseDeadline{20'000};
};

inline constexpr std::string_view kRepeated = "an end is kept and repeated until acknowledged";
inline constexpr std::string_view kForgotten = "an acknowledged end is forgotten";

inline void check_kinds(const ExecutorSubject& subject) {
  Trial trial{subject};
  const Executor& executor = *trial.executor;
  if (executor.name().empty()) {
    throw BrokenPromise{"an executor has a name: expected some text, saw none"};
  }
  const auto check_can = [&](const NodeSpec& node, bool expected, const std::string& what) {
    if (executor.can_run(node) != expected) {
      throw BrokenPromise{"can_run tells what it can run: expected " +
                          std::string{expected ? "true" : "false"} + " for " + what + ", saw " +
                          (expected ? "false" : "true")};
    }
  };
  const NodeSpec external{.id = "node", .action = ExternalAction{}};
  check_can(subject.quick, true, "the quick node");
  check_can(subject.endless, true, "the endless node");
  check_can(external, false, "an external node");
  const AttemptKey key = trial.start(external);
  constexpr std::string_view promise = "what it cannot run is rejected";
  trial.await_end(promise, key, OutcomeKind::rejected);
  trial.close_and_check({key}, promise);
}

inline void check_success(const ExecutorSubject& subject) {
  Trial trial{subject};
  const Launch launch = launch_of(subject.quick);
  trial.executor->submit({launch, launch});
  const SaysEnded end =
      trial.await_end("what succeeds is reported so", launch.key, OutcomeKind::succeeded);
  trial.check_answer(kRepeated, launch.key, end);
  trial.executor->cancel({{launch.key, CancelReason::stop, Duration{1'000}}});
  trial.executor->submit({launch});
  trial.check_answer("a cancel or submit after the end changes nothing", launch.key, end);
  trial.executor->acknowledge({launch.key});
  trial.check_answer(kForgotten, launch.key, SaysAbsent{});
  trial.executor->submit({launch});
  trial.check_answer("what was acknowledged is not launched again", launch.key, SaysAbsent{});
  trial.close_and_check({launch.key});
}

inline void check_batches(const ExecutorSubject& subject) {
  Trial trial{subject};
  std::vector<Launch> launches;
  std::vector<AttemptQuery> queries;
  std::vector<AttemptKey> keys;
  for (int i = 0; i < 30; ++i) {
    launches.push_back(launch_of(subject.quick));
    keys.push_back(launches.back().key);
    queries.push_back({keys.back(), subject.incarnation});
  }
  trial.executor->submit(launches);
  for (const AttemptKey& key : keys) {
    trial.await_end("each of a batch is launched", key, OutcomeKind::succeeded);
  }
  std::vector<std::size_t> before;
  before.reserve(keys.size());
  for (const AttemptKey& key : keys) {
    before.push_back(trial.count(key));
  }
  trial.executor->query(queries);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    trial.await("each of a batch of queries is answered", keys[i], "its end again", before[i]);
  }
  trial.executor->acknowledge(keys);
  for (const AttemptKey& key : keys) {
    trial.check_answer(kForgotten, key, SaysAbsent{});
  }
  trial.close_and_check(keys);
}

inline void check_cancel(const ExecutorSubject& subject, CancelReason reason, OutcomeKind kind) {
  Trial trial{subject};
  const std::vector<AttemptKey> keys{trial.start(subject.endless), trial.start(subject.endless)};
  std::vector<Cancel> cancels;
  for (const AttemptKey& key : keys) {
    trial.await_running(key);
    trial.check_answer("what has not ended is alive", key, SaysAlive{});
    trial.executor->acknowledge({key});
    trial.check_answer("an acknowledge before the end changes nothing", key, SaysAlive{});
    // Its force is for what does not heed it: the node does.
    cancels.insert(cancels.end(), 2, {key, reason, Duration{60'000}});
  }
  trial.executor->cancel(cancels);
  for (const AttemptKey& key : keys) {
    const SaysEnded end = trial.await_end("a cancelled attempt ends as its reason says", key, kind);
    trial.check_answer(kRepeated, key, end);
  }
  trial.close_and_check(keys);
}

inline void check_early_cancel(const ExecutorSubject& subject) {
  constexpr std::string_view promise =
      "a cancel before its submit makes that end as stopped, unlaunched";
  Trial trial{subject};
  std::vector<AttemptKey> keys;
  for (const CancelReason reason :
       {CancelReason::stop, CancelReason::timeout, CancelReason::lost, CancelReason::drain}) {
    const Launch launch = launch_of(subject.quick);
    keys.push_back(launch.key);
    trial.executor->cancel({{launch.key, reason, Duration{1'000}}});
    trial.executor->submit({launch});
    const SaysEnded end = trial.await_end(promise, launch.key, OutcomeKind::stopped);
    trial.executor->submit({launch});
    trial.check_answer(kRepeated, launch.key, end);
  }
  trial.close_and_check(keys, promise);
}

inline void check_launch_guard(const ExecutorSubject& subject) {
  constexpr std::string_view promise = "past its trusted_until an attempt is not launched";
  Trial trial{subject};
  Launch launch = launch_of(subject.quick);
  launch.trusted_until = BootTime{Duration{0}};
  trial.executor->submit({launch});
  const SaysEnded end = trial.await_end(promise, launch.key, OutcomeKind::not_launched);
  launch.trusted_until = BootTime::max();
  trial.executor->submit({launch});
  trial.check_answer(kRepeated, launch.key, end);
  trial.close_and_check({launch.key}, promise);
}

inline void check_strangers(const ExecutorSubject& subject) {
  Trial trial{subject};
  trial.check_answer("a key never seen is absent, and that is no proof", next_key(), SaysAbsent{});
  const AttemptKey key = next_key();
  if (subject.dies_with_process) {
    trial.check_answer("what a dead engine launched is absent, proven", key,
                       SaysAbsent{.proven = true}, false);
  } else {
    constexpr std::string_view promise = "what a dead engine launched does not run here";
    trial.executor->query({{key, "gone", false}});
    const AttemptNews answer = trial.await(promise, key, "absent, ended or unknown");
    trial.check(!std::holds_alternative<SaysAlive>(answer), promise, key,
                "absent, ended or unknown");
    trial.check_unlaunched(promise, key);
  }
  trial.close();
}

inline void check_close(const ExecutorSubject& subject) {
  constexpr std::string_view promise = "close ends what runs as interrupted, and reports it";
  Trial trial{subject};
  const AttemptKey ended = trial.start(subject.quick);
  trial.await_end("what succeeds is reported so", ended, OutcomeKind::succeeded);
  std::vector<AttemptKey> keys{trial.start(subject.endless), trial.start(subject.endless)};
  for (const AttemptKey& key : keys) {
    trial.await_running(key);
  }
  trial.close();
  for (const AttemptKey& key : keys) {
    trial.check(trial.has_ended(key), promise, key, "ended interrupted before close returned");
    trial.await_end(promise, key, OutcomeKind::interrupted);
    trial.check_history(key);
  }
  trial.check_history(ended);
  Trial idle{subject};
  idle.close();
}

}  // namespace executor_contract_detail

inline std::vector<std::string> check_executor(const ExecutorSubject& subject) {
  using namespace executor_contract_detail;
  std::vector<std::string> failures;
  const auto attempt = [&](const auto& check, auto... arguments) {
    try {
      check(subject, arguments...);
    } catch (const BrokenPromise& broken) {
      failures.push_back(broken.text);
    } catch (const std::exception& thrown) {
      failures.push_back(std::string{"no call throws: expected none, saw \""} + thrown.what() +
                         '"');
    }
  };
  attempt(check_kinds);
  attempt(check_success);
  attempt(check_batches);
  attempt(check_cancel, CancelReason::stop, OutcomeKind::stopped);
  attempt(check_cancel, CancelReason::timeout, OutcomeKind::timed_out);
  attempt(check_cancel, CancelReason::lost, OutcomeKind::lost);
  attempt(check_cancel, CancelReason::drain, OutcomeKind::interrupted);
  attempt(check_early_cancel);
  attempt(check_launch_guard);
  attempt(check_strangers);
  attempt(check_close);
  return failures;
}

}  // namespace stagecall::testing
