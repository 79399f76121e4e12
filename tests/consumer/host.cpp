// A host with a task and an executor of its own, built against an installed Stagecall.
#include <stagecall/locks.hpp>
#include <stagecall/stagecall.hpp>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Runs the task `echo`: succeeds at once, and leaves its params.
class EchoExecutor final : public stagecall::Executor {
 public:
  std::string_view name() const override { return "echo"; }
  stagecall::Result<void> open(stagecall::ReportSink& sink) override {
    sink_ = &sink;
    return {};
  }
  bool can_run(const stagecall::NodeSpec& node) const override {
    const auto* task = std::get_if<stagecall::TaskAction>(&node.action);
    return task != nullptr && task->name == "echo";
  }
  void submit(std::vector<stagecall::Launch> launches) override {
    for (const stagecall::Launch& launch : launches) {
      if (seen_.insert(launch.key).second) {
        sink_->report({{launch.key, stagecall::SaysEnded{{}, launch.node->params}}});
      }
    }
  }
  void cancel(std::vector<stagecall::Cancel>) override {}
  void query(std::vector<stagecall::AttemptQuery> queries) override {
    for (const stagecall::AttemptQuery& query : queries) {
      sink_->report({{query.key, stagecall::SaysAbsent{}}});
    }
  }
  void acknowledge(std::vector<stagecall::AttemptKey>) override {}
  void close(stagecall::Duration) override {}

 private:
  stagecall::ReportSink* sink_ = nullptr;
  std::set<stagecall::AttemptKey> seen_;
};

int failed(const stagecall::Error& error) {
  std::fprintf(stderr, "%s: %s\n", std::string{name_of(error.code)}.c_str(), error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  auto engine = stagecall::Engine::open(
      {.store = ":memory:", .executors = {std::make_shared<EchoExecutor>()}});
  if (!engine) {
    return failed(engine.error());
  }
  const auto registered = engine->register_task("read", [](stagecall::TaskContext& task) {
    const auto inputs = task.inputs();
    const auto left = inputs ? task.output(inputs->at("first")) : stagecall::Result<void>{};
    if (!inputs || !left) {
      task.fail("its inputs cannot be read");
    }
  });
  stagecall::Pipeline pipeline{"consumer"};
  pipeline.task("first", "echo").params(R"({"said":1})");
  pipeline.task("second", "read").after({"first"});
  pipeline.command("third", {"true"}).after({"second"});
  const auto run = engine->start(pipeline);
  if (!registered || !run) {
    return failed(registered ? run.error() : registered.error());
  }
  const auto status = engine->wait(*run, 1min);
  const auto output = engine->output(*run, "second");
  if (!status || !output) {
    return failed(status ? output.error() : status.error());
  }
  const auto service = stagecall::LockService::memory();
  const auto lease = stagecall::acquire_lease(service, "key");
  std::printf("%s %s %s\n", std::string{name_of(status->state)}.c_str(),
              output->value_or("nothing").c_str(), lease ? "locked" : "busy");
  return 0;
}
