// A host's own executor under an engine: in which order it is called.
#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace stagecall::testing {
namespace {

/// Runs the task `host`, which goes on until the executor is closed. Notes each call.
class NotingExecutor final : public Executor {
 public:
  std::string_view name() const override { return "noting"; }
  bool can_run(const NodeSpec& node) const override {
    const auto* task = std::get_if<TaskAction>(&node.action);
    return task != nullptr && task->name == "host";
  }
  /// Slow: whatever is called before its time has the time to be.
  Result<void> open(ReportSink& sink) override {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, 300ms, [this] { return !calls_.empty(); });
    sink_ = &sink;
    calls_.emplace_back("open");
    return {};
  }
  void submit(std::vector<Launch> launches) override {
    note("submit");
    const std::lock_guard lock{mutex_};
    for (const Launch& launch : launches) {
      running_.push_back(launch.key);
    }
  }
  void cancel(std::vector<Cancel>) override { note("cancel"); }  // heeded by none
  void query(std::vector<AttemptQuery> queries) override {
    note("query");
    for (const AttemptQuery& query : queries) {
      sink_->report({{query.key, SaysAbsent{.proven = !query.is_own}}});
    }
  }
  void acknowledge(std::vector<AttemptKey>) override { note("acknowledge"); }
  /// Slow as well.
  void close(Duration) override {
    note("close");
    for (const AttemptKey& key : running_) {
      sink_->report({{key, SaysEnded{{.kind = OutcomeKind::interrupted, .error = "closed"}}}});
    }
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, 300ms, [this] { return calls_.back() != "close"; });
  }

  std::vector<std::string> calls() {
    const std::lock_guard lock{mutex_};
    return calls_;
  }
  bool has_submitted() {
    const auto all = calls();
    return std::ranges::find(all, "submit") != all.end();
  }

 private:
  void note(const std::string& call) {
    const std::lock_guard lock{mutex_};
    calls_.push_back(call);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> calls_;
  std::vector<AttemptKey> running_;
  ReportSink* sink_ = nullptr;
};

}  // namespace

TEST_CASE_FIXTURE(EngineFixture, "an executor is called by nobody before its open") {
  { value(open().start(chain_of("p", "host", {"a"}))); }  // left for whoever has its task
  const auto executor = std::make_shared<NotingExecutor>();
  EngineOptions with = options();
  with.tick = 50ms;
  with.executors = {executor};
  {
    const Engine engine = value(Engine::open(with));
    REQUIRE(eventually([&] { return executor->has_submitted(); }));
  }
  CHECK(executor->calls().front() == "open");
}

TEST_CASE_FIXTURE(EngineFixture, "an executor is called by nobody after its close") {
  const auto executor = std::make_shared<NotingExecutor>();
  EngineOptions with = options();
  with.executors = {executor};
  Pipeline pipeline{"p"};
  pipeline.task("a", "host").grace(0ms);
  {
    Engine engine = value(Engine::open(with));
    value(engine.start(pipeline));
    REQUIRE(eventually([&] { return executor->has_submitted(); }));
  }
  CHECK(executor->calls().back() == "close");
}

}  // namespace stagecall::testing
