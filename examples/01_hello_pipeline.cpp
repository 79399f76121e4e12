// Two tasks, one after the other, in a store that outlives the process.
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <cstdio>
#include <string>

int main() {
  using namespace std::chrono_literals;

  // [hello]
  auto engine = stagecall::Engine::open({.store = "hello.db"}).value();
  const auto registered = engine.register_task("say", [](stagecall::TaskContext& task) {
    std::printf("%s says %s\n", task.key().text().c_str(), task.params().c_str());
  });

  stagecall::Pipeline hello{"hello"};
  hello.task("first", "say").params(R"({"text": "hello"})");
  hello.task("second", "say").after({"first"});

  const auto run = engine.start(hello).value();  // durable from here on
  const auto status = engine.wait(run, 1min).value();
  // [hello]
  std::printf("%s %s\n", run.text().c_str(), std::string{name_of(status.state)}.c_str());
  return registered && status.state == stagecall::RunState::succeeded ? 0 : 1;
}
