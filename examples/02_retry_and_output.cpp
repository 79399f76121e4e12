// A task that fails twice and is tried again, and one that works on what it left.
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

int main() {
  auto engine = stagecall::Engine::open({.store = ":memory:"}).value();

  // [retry]
  engine.register_task("fetch", [](stagecall::TaskContext& task) {
    if (task.key().attempt.value < 3) {
      throw std::runtime_error{"the network is down"};  // fails this attempt, not the process
    }
    task.output(R"({"rows": 42})").value();
  }).value();
  engine.register_task("count", [](stagecall::TaskContext& task) {
    const auto inputs = task.inputs().value();  // by node: what the dependencies have left
    task.output(R"({"seen": )" + inputs.at("fetch") + "}").value();
  }).value();

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
