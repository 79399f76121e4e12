// What every executor promises, whatever it runs.
#pragma once

#include "stagecall/executor.hpp"
#include "tests/executors/report_log.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace stagecall::testing {

using namespace std::chrono_literals;

/// A key that no other call returns.
inline AttemptKey next_key(std::string node = "node") {
  static std::atomic<std::uint64_t> nonce{1};
  return {{"pipeline", 1}, std::move(node), Attempt{1}, Nonce{nonce++}};
}

inline Launch launch_of(NodeSpec node, AttemptKey key = next_key()) {
  return {.key = std::move(key),
          .node = std::make_shared<const NodeSpec>(std::move(node)),
          .term = Term{7},
          .trusted_until = BootTime::max()};
}

struct ContractSubject {
  Executor& executor;  ///< open
  ReportLog& log;      ///< its sink
  std::string incarnation;
  NodeSpec quick;  ///< succeeds soon
  NodeSpec long_;  ///< runs until it is cancelled
};

inline void check_ends(const ContractSubject& subject) {
  const Launch launch = launch_of(subject.quick);
  subject.executor.submit({launch});
  const auto end = subject.log.wait_for<SaysEnded>(launch.key);
  REQUIRE(end);
  CHECK(end->outcome.kind == OutcomeKind::succeeded);

  // Repeated until acknowledged; a second submit launches nothing.
  subject.log.clear();
  subject.executor.submit({launch});
  subject.executor.query({{launch.key, subject.incarnation}});
  CHECK(subject.log.wait_for<SaysEnded>(launch.key) == end);
  CHECK(subject.log.of(launch.key).size() == 1);

  subject.log.clear();
  subject.executor.acknowledge({launch.key});
  subject.executor.submit({launch});
  subject.executor.query({{launch.key, subject.incarnation}});
  CHECK(subject.log.wait_for<SaysAbsent>(launch.key) == SaysAbsent{.proven = false});
  CHECK(subject.log.of(launch.key).size() == 1);
}

inline void check_cancel(const ContractSubject& subject, CancelReason reason, OutcomeKind kind) {
  const Launch launch = launch_of(subject.long_);
  subject.executor.submit({launch});
  REQUIRE(subject.log.wait_for<SaysRunning>(launch.key));
  subject.executor.query({{launch.key, subject.incarnation}});
  CHECK(subject.log.wait_for<SaysAlive>(launch.key));
  subject.executor.acknowledge({launch.key});  // too early: changes nothing
  subject.executor.cancel({{launch.key, reason, 30s}, {launch.key, reason, 30s}});
  const auto end = subject.log.wait_for<SaysEnded>(launch.key);
  REQUIRE(end);
  CHECK(end->outcome.kind == kind);
  CHECK_FALSE(end->outcome.error.empty());
}

inline void check_unlaunched(const ContractSubject& subject) {
  const Launch cancelled = launch_of(subject.quick);
  subject.executor.cancel({{cancelled.key, CancelReason::stop, 1s}});
  Launch distrusted = launch_of(subject.quick);
  distrusted.trusted_until = BootTime{0ms};
  subject.executor.submit({cancelled, distrusted});
  const auto stopped = subject.log.wait_for<SaysEnded>(cancelled.key);
  REQUIRE(stopped);
  CHECK(stopped->outcome.kind == OutcomeKind::stopped);
  CHECK(subject.log.of(cancelled.key).size() == 1);
  const auto guarded = subject.log.wait_for<SaysEnded>(distrusted.key);
  REQUIRE(guarded);
  CHECK(guarded->outcome.kind == OutcomeKind::not_launched);
  CHECK(subject.log.of(distrusted.key).size() == 1);

  NodeSpec external{.id = "node", .action = ExternalAction{}};
  CHECK_FALSE(subject.executor.can_run(external));
  const Launch foreign = launch_of(external);
  subject.executor.submit({foreign});
  const auto rejected = subject.log.wait_for<SaysEnded>(foreign.key);
  REQUIRE(rejected);
  CHECK(rejected->outcome.kind == OutcomeKind::rejected);
}

/// Ends with the executor closed.
inline void check_executor_contract(const ContractSubject& subject) {
  CHECK(subject.executor.can_run(subject.quick));
  CHECK(subject.executor.can_run(subject.long_));
  check_ends(subject);
  check_cancel(subject, CancelReason::stop, OutcomeKind::stopped);
  check_cancel(subject, CancelReason::timeout, OutcomeKind::timed_out);
  check_cancel(subject, CancelReason::lost, OutcomeKind::lost);
  check_unlaunched(subject);

  const AttemptKey unknown = next_key();
  subject.executor.query({{unknown, subject.incarnation}});
  CHECK(subject.log.wait_for<SaysAbsent>(unknown) == SaysAbsent{.proven = false});

  const Launch interrupted = launch_of(subject.long_);
  subject.executor.submit({interrupted});
  REQUIRE(subject.log.wait_for<SaysRunning>(interrupted.key));
  subject.executor.close(20s);
  const auto news = subject.log.of(interrupted.key);
  REQUIRE(news.size() == 2);
  REQUIRE(std::holds_alternative<SaysEnded>(news.back()));
  CHECK(std::get<SaysEnded>(news.back()).outcome.kind == OutcomeKind::interrupted);
}

}  // namespace stagecall::testing
