// A run that waits for somebody outside, over the end of the engine that started it.
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

void deploy(stagecall::TaskContext& task) {
  std::printf("deploys on the word of %s\n", task.inputs().value().at("approve").c_str());
}

stagecall::Engine open() {
  auto engine = stagecall::Engine::open({.store = "approval.db"}).value();
  if (auto registered = engine.register_task("deploy", deploy); !registered) {
    throw std::runtime_error{registered.error().message};
  }
  return engine;
}

stagecall::RunId ask_for_approval() {
  auto engine = open();
  stagecall::Pipeline release{"release"};
  release.external("approve");
  release.task("deploy", "deploy").after({"approve"});
  const auto run = engine.start(release).value();
  const auto nodes = engine.explain(run).value();
  for (const auto& node : nodes) {
    std::printf("%s: %s\n", node.node.c_str(), node.text.c_str());
  }
  return run;
}  // the engine ends here; the run does not

}  // namespace

int main() {
  const auto run = ask_for_approval();

  // [approve]
  auto engine = open();  // takes up what is live in the store
  const auto taken =
      engine.node_done(run, "approve", 1, stagecall::Outcome::succeeded(), {.output = R"("Ada")"});
  const auto status = engine.wait(run, 1min).value();
  // [approve]
  std::printf("%s %s\n", run.text().c_str(), std::string{name_of(status.state)}.c_str());
  return taken && status.state == stagecall::RunState::succeeded ? 0 : 1;
}
