// A task that fails twice and is tried again, and one that works on what it left.
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

// [tasks]
void fetch(stagecall::TaskContext& task) {
  if (task.key().attempt.value < 3) {
    throw std::runtime_error{"the network is down"};  // fails this attempt, not the process
  }
  if (auto kept = task.output(R"({"rows": 42})"); !kept) {
    task.fail(kept.error().message);
  }
}

void count(stagecall::TaskContext& task) {
  const auto inputs = task.inputs().value();  // by node: what the dependencies have left
  if (auto kept = task.output(R"({"seen": )" + inputs.at("fetch") + "}"); !kept) {
    task.fail(kept.error().message);
  }
}
// [tasks]

}  // namespace

int main() {
  auto engine = stagecall::Engine::open({.store = ":memory:"}).value();
  if (!engine.register_task("fetch", fetch) || !engine.register_task("count", count)) {
    return 1;
  }

  // [retry]
  stagecall::Pipeline report{"report"};
  report.task("fetch", "fetch").retry({.attempts_max = 3, .delay = 10ms});
  report.task("count", "count").after({"fetch"});
  // [retry]

  const auto run = engine.start(report).value();
  const auto status = engine.wait(run, 1min).value();
  const std::string left = engine.output(run, "count").value().value_or("nothing");
  std::printf("%s %s, count left %s\n", run.text().c_str(),
              std::string{name_of(status.state)}.c_str(), left.c_str());
  return left == R"({"seen": {"rows": 42}})" ? 0 : 1;
}
