// The public contract suite finds each broken promise: an executor that keeps all but one.
#include "stagecall/testing/executor_contract.hpp"

#include "executors/builtin_tasks.hpp"
#include "platform/system_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

enum class Fault {
  none,
  cannot_open,
  no_name,
  runs_everything,
  rejects_nothing,
  launches_twice,
  launches_first_only,
  says_no_running,
  trusts_forever,
  forgets_early_cancels,
  runs_what_was_cancelled_early,
  cancels_for_one_reason,
  cancels_what_has_ended,
  gives_no_error_text,
  answers_first_only,
  answers_unknown,
  answers_another_end,
  answers_as_cancelled,
  knows_no_ends,
  proves_strangers,
  proves_nothing,
  acknowledges_what_runs,
  acknowledges_nothing,
  closes_silently,
  closes_as_stopped,
  reports_after_close,
};

NodeSpec task(std::string name, std::string params = "") {
  return {.id = "node", .action = TaskAction{std::move(name)}, .params = std::move(params)};
}

/// The built-in tasks, but for one fault.
class FaultyExecutor final : public Executor, public ReportSink {
 public:
  FaultyExecutor(Fault fault, const Clock& clock)
      : fault_(fault), inner_(make_builtin_tasks(clock)) {}
  ~FaultyExecutor() override {
    if (sink_ != nullptr && is(Fault::reports_after_close)) {
      sink_->report({{next_key(), SaysAlive{}}});
    }
  }

  std::string_view name() const override { return is(Fault::no_name) ? "" : inner_->name(); }
  Result<void> open(ReportSink& sink) override {
    sink_ = &sink;
    return is(Fault::cannot_open) ? fail(ErrorCode::executor_unavailable, "no thread left")
                                  : inner_->open(*this);
  }
  bool can_run(const NodeSpec& node) const override {
    return is(Fault::runs_everything) || inner_->can_run(node);
  }

  void submit(std::vector<Launch> launches) override {
    if (is(Fault::launches_first_only)) {
      launches.resize(1);
    }
    for (Launch& launch : launches) {
      const bool is_new = seen_.insert(launch.key).second;
      const bool was_cancelled = cancelled_.contains(launch.key);
      if ((is(Fault::launches_twice) && !is_new) ||
          (is(Fault::runs_what_was_cancelled_early) && was_cancelled)) {
        sink_->report({{launch.key, SaysRunning{}}});
      }
      if (is(Fault::trusts_forever)) {
        launch.trusted_until = BootTime::max();
      }
      if (is(Fault::rejects_nothing) && !inner_->can_run(*launch.node)) {
        launch.node = std::make_shared<const NodeSpec>(task("noop"));
      }
    }
    inner_->submit(std::move(launches));
  }

  void cancel(std::vector<Cancel> cancels) override {
    for (Cancel& each : cancels) {
      cancelled_.insert(each.key);
      if (is(Fault::cancels_for_one_reason)) {
        each.reason = CancelReason::stop;
      }
      if (is(Fault::cancels_what_has_ended) && ended_.contains(each.key)) {
        sink_->report({{each.key, SaysEnded{{.kind = OutcomeKind::stopped, .error = "stopped"}}}});
      }
    }
    if (is(Fault::forgets_early_cancels)) {
      std::erase_if(cancels, [this](const Cancel& each) { return !seen_.contains(each.key); });
    }
    inner_->cancel(std::move(cancels));
  }

  void query(std::vector<AttemptQuery> queries) override {
    if (is(Fault::answers_first_only)) {
      queries.resize(1);
    }
    for (AttemptQuery& each : queries) {
      each.is_own = each.is_own || is(Fault::proves_nothing);
    }
    is_answering_ = true;
    inner_->query(std::move(queries));
    is_answering_ = false;
  }

  void acknowledge(std::vector<AttemptKey> keys) override {
    if (is(Fault::acknowledges_what_runs)) {
      acknowledged_.insert(keys.begin(), keys.end());
    }
    if (!is(Fault::acknowledges_nothing)) {
      inner_->acknowledge(std::move(keys));
    }
  }

  void close(Duration deadline) override {
    is_closing_ = true;
    inner_->close(deadline);
  }

  void report(std::vector<AttemptReport> reports) override {
    for (AttemptReport& each : reports) {
      each.news = spoilt(each.key, std::move(each.news));
    }
    std::erase_if(reports, [this](const AttemptReport& each) {
      return (is(Fault::says_no_running) && std::holds_alternative<SaysRunning>(each.news)) ||
             (is(Fault::closes_silently) && is_closing_);
    });
    if (!reports.empty()) {
      sink_->report(std::move(reports));
    }
  }

 private:
  bool is(Fault fault) const { return fault_ == fault; }

  AttemptNews spoilt(const AttemptKey& key, AttemptNews news) {
    if (is_answering_ && (is(Fault::knows_no_ends) || acknowledged_.contains(key))) {
      return SaysAbsent{};
    }
    if (is_answering_ && is(Fault::answers_unknown)) {
      return SaysUnknown{};
    }
    if (auto* absent = std::get_if<SaysAbsent>(&news); absent && is(Fault::proves_strangers)) {
      absent->proven = true;
    }
    if (is_answering_ && is(Fault::answers_as_cancelled) && cancelled_.contains(key)) {
      return SaysEnded{{.kind = OutcomeKind::stopped, .error = "stopped"}};
    }
    if (auto* end = std::get_if<SaysEnded>(&news)) {
      ended_.insert(key);
      spoil(end->outcome);
    }
    return news;
  }

  void spoil(Outcome& outcome) {
    if (is(Fault::gives_no_error_text)) {
      outcome.error.clear();
    }
    if (is(Fault::answers_another_end) && is_answering_) {
      outcome.error = "another";
    }
    if (is(Fault::closes_as_stopped) && is_closing_) {
      outcome.kind = OutcomeKind::stopped;
    }
  }

  const Fault fault_;
  ReportSink* sink_ = nullptr;
  bool is_answering_ = false;
  bool is_closing_ = false;
  std::set<AttemptKey> seen_;
  std::set<AttemptKey> cancelled_;
  std::set<AttemptKey> ended_;
  std::set<AttemptKey> acknowledged_;
  std::unique_ptr<Executor> inner_;
};

std::vector<std::string> failures_of(Fault fault, const Clock& clock) {
  return check_executor({.open = [&](ReportSink& sink) -> Result<std::unique_ptr<Executor>> {
                           auto fresh = std::make_unique<FaultyExecutor>(fault, clock);
                           return fresh->open(sink).map([&] { return std::move(fresh); });
                         },
                         .quick = task("noop"),
                         .endless = task("sleep", R"({"seconds":9e4})"),
                         .dies_with_process = true,
                         .patience = Duration{20}});
}

struct Case {
  Fault fault;
  std::string promise;
};

const std::vector<Case> kCases{
    {Fault::cannot_open, "open succeeds: expected an executor, saw the error \"no thread left\""},
    {Fault::no_name, "an executor has a name"},
    {Fault::runs_everything, "can_run tells what it can run"},
    {Fault::rejects_nothing, "what it cannot run is rejected"},
    {Fault::launches_twice, "a second submit of a key launches nothing"},
    {Fault::launches_first_only, "each of a batch is launched"},
    {Fault::says_no_running, "an attempt that runs is reported running"},
    {Fault::trusts_forever, "past its trusted_until an attempt is not launched"},
    {Fault::forgets_early_cancels, "a cancel before its submit makes that end as stopped"},
    {Fault::runs_what_was_cancelled_early, "a cancel before its submit makes that end as stopped"},
    {Fault::cancels_for_one_reason, "a cancelled attempt ends as its reason says"},
    {Fault::cancels_what_has_ended, "an attempt ends once, and nothing of it runs afterwards"},
    {Fault::answers_as_cancelled, "a cancel or submit after the end changes nothing"},
    {Fault::gives_no_error_text, "an end that is no success says why"},
    {Fault::answers_first_only, "each of a batch of queries is answered"},
    {Fault::answers_unknown, "what has not ended is alive"},
    {Fault::answers_another_end, "an end is kept and repeated until acknowledged"},
    {Fault::knows_no_ends, "an end is kept and repeated until acknowledged"},
    {Fault::proves_strangers, "a key never seen is absent, and that is no proof"},
    {Fault::proves_nothing, "what a dead engine launched is absent, proven"},
    {Fault::acknowledges_what_runs, "an acknowledge before the end changes nothing"},
    {Fault::acknowledges_nothing, "an acknowledged end is forgotten"},
    {Fault::closes_silently, "close ends what runs as interrupted, and reports it"},
    {Fault::closes_as_stopped, "close ends what runs as interrupted, and reports it"},
    {Fault::reports_after_close, "after close the sink is not called any more"},
};

}  // namespace

TEST_CASE("the contract suite says which promise is broken, what it wanted and what it saw") {
  const SystemClock clock;
  CHECK(failures_of(Fault::none, clock) == std::vector<std::string>{});
  for (const Case& each : kCases) {
    CAPTURE(each.promise);
    const auto failures = failures_of(each.fault, clock);
    CAPTURE(failures);
    CHECK(std::ranges::any_of(
        failures, [&](const std::string& text) { return text.starts_with(each.promise); }));
    CHECK(std::ranges::all_of(failures, [](const std::string& text) {
      return text.find(": expected ") != std::string::npos &&
             text.find(", saw ") != std::string::npos;
    }));
  }
}
