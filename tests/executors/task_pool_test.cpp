// What the pool does with callables: how they are called, told to end, and what is said of them.
#include "tests/executors/task_pool_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace stagecall;
using namespace stagecall::testing;

TEST_CASE_FIXTURE(TaskPoolFixture, "the task pool keeps the contract of executors") {
  CHECK(pool->name() == "task");
  check_executor_contract({.open = [this](ReportSink& sink) -> Result<std::unique_ptr<Executor>> {
                             auto fresh = std::make_unique<TaskPool>(clock, 3);
                             REQUIRE(fresh->add("noop", [](TaskContext&) {}));
                             REQUIRE(fresh->add("obedient", wait_for_stop));
                             return fresh->open(sink).map([&] { return std::move(fresh); });
                           },
                           .quick = task("noop"),
                           .endless = task("obedient"),
                           .dies_with_process = true});
}

TEST_CASE_FIXTURE(TaskPoolFixture, "a name is taken once, and ill-formed ones are refused") {
  const auto none = [](TaskContext&) {};
  CHECK(pool->add(std::string(255, 'x'), none));
  for (const std::string& name : {std::string{}, std::string(256, 'x'), std::string{"a\nb"},
                                  std::string("a\0b", 3), std::string{"\x7f"}}) {
    CAPTURE(name);
    const auto added = pool->add(name, none);
    REQUIRE_FALSE(added);
    CHECK(added.error().code == ErrorCode::invalid_argument);
    CHECK(added.error().message.find("255") != std::string::npos);
    CHECK_FALSE(pool->can_run(task(name)));
  }
  CHECK(pool->add("empty", Task{}).error().message ==
        "cannot register a task: \"empty\" has nothing to call");
  CHECK_FALSE(pool->can_run(task("empty")));
  CHECK(pool->add("noop", none).error().message ==
        "cannot register a task: the name \"noop\" is taken");
  CHECK(pool->can_run(task("noop")));
}

TEST_CASE_FIXTURE(TaskPoolFixture, "a task sees its attempt, its params and its inputs") {
  const Launch launch = launch_of(task("look", R"({"a":1})"));
  const auto inputs = std::make_shared<FixedInputs>();
  Launch with_inputs = launch_of(task("read"));
  with_inputs.inputs = inputs;
  REQUIRE(pool->add("look", [&](TaskContext& context) {
    const bool is_right = context.key() == launch.key && context.term() == Term{7} &&
                          context.params() == R"({"a":1})" && context.inputs().value().empty() &&
                          !context.stop_reason() && !context.stop_token().stop_requested();
    leave(context, is_right ? "true" : "false");
  }));
  REQUIRE(pool->add("read", [](TaskContext& context) {
    const bool is_busy = context.inputs().error().code == ErrorCode::store_unavailable;
    const bool is_read = context.inputs().value().at("before") == "[1]";
    const bool is_kept = context.inputs().value().at("before") == "[1]";
    leave(context, is_busy && is_read && is_kept && context.params() == "{}" ? "true" : "false");
  }));
  pool->submit({launch, with_inputs});
  CHECK(end_of(launch.key) == SaysEnded{{}, "true"});
  CHECK(end_of(with_inputs.key) == SaysEnded{{}, "true"});
  CHECK(inputs->reads == 2);
}

TEST_CASE_FIXTURE(TaskPoolFixture, "an output is JSON of at most 64 KiB, the last one counts") {
  const std::string longest = '"' + std::string(65'534, 'x') + '"';
  Result<void> ill;
  Result<void> too_long;
  CHECK(run("writes", [&](TaskContext& context) {
          leave(context, "1");
          leave(context, longest);
          ill = context.output("nonsense");
          too_long = context.output(longest + " ");
        }) == SaysEnded{{}, longest});
  CHECK(ill.error().code == ErrorCode::invalid_argument);
  CHECK(too_long.error().code == ErrorCode::invalid_argument);
  CHECK(too_long.error().message.find("65537") != std::string::npos);
  CHECK(run("writes and fails", [](TaskContext& context) {
          leave(context, "1");
          context.fail("no");
        }) == SaysEnded{failed("no")});
}

TEST_CASE_FIXTURE(TaskPoolFixture, "an exception of any kind fails its attempt and no other") {
  struct Silent final : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  CHECK(run("throws", [](TaskContext&) { throw std::runtime_error{"disk full"}; }).outcome ==
        failed("disk full"));
  CHECK(run("throws 42", [](TaskContext&) { throw 42; }).outcome ==
        failed("an exception that is no std::exception"));
  CHECK(run("throws silence", [](TaskContext&) { throw Silent{}; }).outcome ==
        failed("an exception without a text"));
  CHECK(run("throws after fail", [](TaskContext& context) {
          context.fail("first");
          throw std::runtime_error{"last"};
        }).outcome == failed("last"));
  CHECK(end_of(start(task("noop"))).outcome == Outcome{});
}

TEST_CASE_FIXTURE(TaskPoolFixture, "the text of a failure is bounded, UTF-8 and never empty") {
  CHECK(run("bytes",
            [](TaskContext& context) {
              context.fail(
                  "a\xff"
                  "b");
            })
            .outcome == failed("a\xEF\xBF\xBD"
                               "b"));
  CHECK(run("nothing", [](TaskContext& context) { context.fail(""); }).outcome == failed("failed"));
  const Outcome much =
      run("much", [](TaskContext& context) { context.fail(std::string(1'000'000, 'x')); }).outcome;
  CHECK(much == failed(std::string(4'096, 'x')));
}

TEST_CASE_FIXTURE(TaskPoolFixture, "R7: progress is clamped, and told only when it moved") {
  const AttemptKey key = start(task("noop"));
  end_of(key);
  const AttemptKey slow = next_key();
  REQUIRE(pool->add("slow", [&](TaskContext& context) {
    const auto says = [&](double fraction, double told) {
      context.progress(fraction);
      const AttemptNews news = SaysProgress{told};
      if (!log.wait_until(slow, [&](const AttemptNews& each) { return each == news; })) {
        context.fail("not told");
      }
    };
    says(-3, 0);
    context.progress(0.005);
    context.progress(std::numeric_limits<double>::quiet_NaN());
    says(0.01, 0.01);
    says(0.995, 0.995);
    says(2, 1);
    context.progress(1);
  }));
  pool->submit({launch_of(task("slow"), slow)});
  end_of(slow);
  CHECK(log.of(slow) == std::vector<AttemptNews>{SaysRunning{}, SaysProgress{0}, SaysProgress{0.01},
                                                 SaysProgress{0.995}, SaysProgress{1},
                                                 SaysEnded{}});
}

TEST_CASE_FIXTURE(TaskPoolFixture, "progress in a tight loop does not flood the sink") {
  const AttemptKey key = next_key();
  REQUIRE(pool->add("tight", [](TaskContext& context) {
    for (int i = 0; i <= 100'000; ++i) {
      context.progress(i / 1e5);
    }
  }));
  pool->submit({launch_of(task("tight"), key)});
  end_of(key);
  const auto news = log.of(key);
  CHECK(news.size() <= 104);
  CHECK(news.at(news.size() - 2) == AttemptNews{SaysProgress{1}});
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "a stop is told with its reason, and what heeds it has not failed") {
  struct Case {
    std::string name;
    Task callable;
    Outcome outcome;
  };
  const auto reason = [](TaskContext& context) {
    wait_for_stop(context);
    leave(context, "1");
    if (context.stop_reason() != CancelReason::timeout) {
      context.fail("another reason");
    }
  };
  const auto throws = [](TaskContext& context) {
    wait_for_stop(context);
    throw std::runtime_error{"aborted"};
  };
  const auto fails = [](TaskContext& context) {
    wait_for_stop(context);
    context.fail("half done");
  };
  const auto timed_out = [](std::string error) {
    return Outcome{.kind = OutcomeKind::timed_out, .error = std::move(error)};
  };
  for (Case& each : std::vector<Case>{{"returns", reason, timed_out("timed out")},
                                      {"throws", throws, timed_out("timed out: aborted")},
                                      {"fails", fails, failed("half done")}}) {
    CAPTURE(each.name);
    REQUIRE(pool->add(each.name, each.callable));
    const AttemptKey key = start_running(task(each.name));
    pool->cancel({{key, CancelReason::timeout, 60s}, {key, CancelReason::stop, 0ms}});
    CHECK(end_of(key) == SaysEnded{each.outcome});
  }
  CHECK(pool->abandoned() == 0);
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "what finds no thread waits in order, and ends at once when cancelled") {
  open(1, clock);
  std::mutex mutex;
  std::vector<std::string> order;
  REQUIRE(pool->add("notes", [&](TaskContext& context) {
    const std::lock_guard lock{mutex};
    order.push_back(context.params());
  }));
  const AttemptKey first = start_running(task("stuck"));
  std::vector<AttemptKey> keys;
  for (const char* params : {"1", "2", "3"}) {
    keys.push_back(start(task("notes", params)));
  }
  pool->cancel({{keys[1], CancelReason::stop, 60s}});
  CHECK(end_of(keys[1]).outcome.kind == OutcomeKind::stopped);
  CHECK(log.of(keys[1]).size() == 1);
  gate->open();
  for (const AttemptKey& key : {first, keys[0], keys[2]}) {
    CHECK(end_of(key).outcome == Outcome{});
  }
  CHECK(order == std::vector<std::string>{"1", "3"});
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "the clock is compared again when a thread takes the attempt up") {
  ManualClock manual;
  open(1, manual);
  const AttemptKey first = start_running(task("stuck"));
  Launch launch = launch_of(task("noop"));
  launch.trusted_until = BootTime{5ms};
  pool->submit({launch});
  pool->query({{launch.key, "ours"}});
  CHECK(log.wait_for<SaysAlive>(launch.key));
  manual.now = 5;
  gate->open();
  CHECK(end_of(launch.key).outcome == kNotLaunched);
  CHECK(log.of(launch.key) == std::vector<AttemptNews>{SaysAlive{}, SaysEnded{kNotLaunched}});
  end_of(first);
  pool.reset();
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "a close leaves what is stuck, which may return after the pool is gone") {
  const AttemptKey stuck = start_running(task("stuck"));
  const AttemptKey obedient = start_running(task("obedient"));
  const auto done = std::make_shared<Gate>();
  REQUIRE(pool->add("late", [gate = gate, done](TaskContext& context) {
    gate->wait();
    context.progress(0.5);
    leave(context, context.params());
    done->open();
  }));
  const AttemptKey late = start_running(task("late"));
  pool->close(50ms);
  CHECK(end_of(obedient).outcome.kind == OutcomeKind::interrupted);
  CHECK(pool->abandoned() == 2);
  const std::size_t calls = log.calls();
  pool.reset();
  gate->open();
  done->wait();
  CHECK(log.of(late) == std::vector<AttemptNews>{SaysRunning{}});
  CHECK(log.of(stuck) == std::vector<AttemptNews>{SaysRunning{}});
  CHECK(log.calls() == calls);
}

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "R13: 10,000 tasks end, none stuck or twice, though sooner than submit") {
  std::vector<Launch> launches;
  std::vector<AttemptKey> keys;
  for (int i = 0; i < 10'000; ++i) {
    launches.push_back(launch_of(task("noop")));
    keys.push_back(launches.back().key);
  }
  // One by one for the first half: each may have ended before its submit returns.
  for (std::size_t i = 0; i < 5'000; ++i) {
    pool->submit({launches[i]});
  }
  pool->submit({launches.begin() + 5'000, launches.end()});
  for (const AttemptKey& key : keys) {
    end_of(key);
  }
  pool->submit(launches);
  pool->close(60s);
  for (const AttemptKey& key : keys) {
    CHECK(log.of(key) == std::vector<AttemptNews>{SaysRunning{}, SaysEnded{}});
  }
}

namespace {

/// What one of many threads does with the pool, all calls at once with the others'.
void use_pool(TaskPoolFixture& fixture, int thread, std::vector<AttemptKey>& keys) {
  TaskPool& pool = *fixture.pool;
  for (int i = 0; i < 50; ++i) {
    const std::string name = std::to_string(thread) + '-' + std::to_string(i);
    const bool is_added =
        pool.add(name, [](TaskContext& context) { context.progress(0.5); }).has_value();
    const bool is_obedient = i % 3 == 0;
    const Launch launch = launch_of(task(is_obedient || !is_added ? "obedient" : name));
    keys.push_back(launch.key);
    if (i % 5 == 0) {
      pool.cancel({{launch.key, CancelReason::stop, 60s}});
    }
    pool.submit({launch});
    pool.query({{launch.key, "ours"}});
    if (is_obedient) {
      pool.cancel({{launch.key, CancelReason::stop, 60s}});
    }
    if (i % 2 == 0 && fixture.log.wait_for<SaysEnded>(launch.key)) {
      pool.acknowledge({launch.key});
    }
  }
}

}  // namespace

TEST_CASE_FIXTURE(TaskPoolFixture,
                  "E6: 16 threads use the pool at once, and every attempt ends once") {
  std::vector<std::vector<AttemptKey>> keys(16);
  std::vector<std::thread> threads;
  threads.reserve(keys.size());
  for (int thread = 0; thread < 16; ++thread) {
    threads.emplace_back(
        [&, thread] { use_pool(*this, thread, keys[static_cast<size_t>(thread)]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<AttemptKey>& mine : keys) {
    for (const AttemptKey& key : mine) {
      const AttemptNews end = end_of(key);
      const auto news = log.of(key);
      CHECK(std::ranges::count(news, AttemptNews{SaysRunning{}}) <= 1);
      CHECK(std::ranges::all_of(news, [&](const AttemptNews& each) {
        return !std::holds_alternative<SaysEnded>(each) || each == end;
      }));
    }
  }
}
