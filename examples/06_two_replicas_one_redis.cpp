// Two engines on one store, with their leases in Redis: one schedules a run, the other goes on with
// it when the first is ended. Its argument is the server: redis://127.0.0.1:6379/0
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

// [leases]
stagecall::Result<stagecall::Engine> open_replica(const std::string& name, const std::string& url) {
  return stagecall::Engine::open({.store = "shared.db",
                                  .replica = name,
                                  .tick = 200ms,
                                  .leases = {url},  // three or five of them: a quorum
                                  .lease_ttl = 2s,
                                  .slots = 2});
}
// [leases]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s redis://host:port/db\n", argv[0]);
    return 2;
  }
  auto first = open_replica("first", argv[1]);
  auto second = open_replica("second", argv[1]);
  if (!first || !second) {
    std::fprintf(stderr, "%s\n", (first ? second : first).error().message.c_str());
    return 4;
  }

  stagecall::Pipeline release{"release"};
  release.external("approve");
  release.task("publish", "noop").after({"approve"});
  const auto run = first->start(release).value();
  std::printf("first schedules %s\n", run.text().c_str());

  first->drain(0ms);  // as at its shutdown; killed, its lease would end by itself
  const bool is_taken = second->node_done(run, "approve", 1, stagecall::Outcome{}).value();
  const auto status = second->wait(run, 1min).value();
  const auto adopted = second->counters()["supervisor.adopted"];
  std::printf("second has taken over %d run, which has %s\n", static_cast<int>(adopted),
              std::string{name_of(status.state)}.c_str());
  return is_taken && adopted == 1 && status.state == stagecall::RunState::succeeded ? 0 : 1;
}
