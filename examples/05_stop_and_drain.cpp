// Ending things in order: a task that heeds its token, a run that is stopped, an engine that hands
// over what it has not finished.
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>

namespace {

using namespace std::chrono_literals;

// [token]
void watch_until_told(stagecall::TaskContext& task) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  // Returns as soon as the attempt is to end: a stop, its timeout, a drain.
  changed.wait_for(lock, task.stop_token(), 1h, [] { return false; });
}
// [token]

}  // namespace

int main() {
  auto engine = stagecall::Engine::open({.store = "drain.db", .slots = 2}).value();

  if (!engine.register_task("watch", watch_until_told)) {
    return 1;
  }

  stagecall::Pipeline watch{"watch"};
  watch.task("eye", "watch");
  const auto first = engine.start(watch).value();
  const bool is_asked = engine.stop(first).value();  // durable when it returns
  const auto stopped = engine.wait(first, 1min).value();
  std::printf("%s %s\n", first.text().c_str(), std::string{name_of(stopped.state)}.c_str());

  const auto second = engine.start(watch).value();
  engine.drain(0ms);  // its attempt ends as interrupted, which costs none of its tries
  const auto left = engine.status(second).value();
  std::printf("%s is %s, for whoever opens the store next\n", second.text().c_str(),
              std::string{name_of(left.state)}.c_str());
  return is_asked && stopped.state == stagecall::RunState::stopped && !is_terminal(left.state) ? 0
                                                                                               : 1;
}
