#include "tests/system/system_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

/// Interrupts a run of many short commands half-way, and goes on with it.
void check_interrupted(SystemFixture& fixture, int signal, const std::string& drain_grace) {
  nlohmann::json pipeline{{"pipeline", "held"}, {"nodes", nlohmann::json::array()}};
  Dependencies dependencies;
  for (int node = 0; node < 60; ++node) {
    const std::string id = "n" + std::to_string(node);
    if (node >= 4) {
      dependencies[id] = {"n" + std::to_string(node - 4)};
    } else {
      dependencies[id] = {};
    }
    pipeline["nodes"].push_back({{"id", id},
                                 {"after", dependencies[id]},
                                 {"command", logged_command(fixture.log_path(), "sleep 0.05")}});
  }
  const std::vector<std::string> run{
      "run", fixture.file("p.json", pipeline.dump()), "--slots", "4", "--drain-grace", drain_grace};
  const auto running = fixture.launch(run);
  REQUIRE(fixture.eventually_logged("start", 15));
  running->signal(signal);
  const ChildEnd interrupted = running->wait();
  INFO(interrupted.err);
  CHECK(interrupted.exit_code == 5);
  CHECK(fixture.processes().empty());
  CHECK(fixture.call_json({"status", "held"}, 0)["status"] == "running");
  const std::size_t started = fixture.count("start");
  const std::size_t ended = fixture.count("end");
  CHECK(started < 60);

  const ChildEnd end = fixture.launch(run)->wait(kLongRun);
  CHECK(end.exit_code == 0);
  // What the drain ended unfinished is started again, as another attempt, and nothing else.
  CHECK(fixture.count("start") == 60 + started - ended);
  CHECK(fixture.count("end") == 60);
  CHECK(faults_of(fixture.log(), dependencies) == std::vector<std::string>{});
  CHECK(faults_of_history(fixture.history("held"), dependencies) == std::vector<std::string>{});
  CHECK(fixture.call_json({"status"}, 0)["runs"].size() == 1);
  CHECK(fixture.processes().empty());
  fixture.check_verified();
}

TEST_CASE_FIXTURE(SystemFixture, "E2: an interrupted run lives on, what ran was given its time") {
  check_interrupted(*this, SIGINT, "1h");
}

TEST_CASE_FIXTURE(SystemFixture, "E2: a terminated run lives on, what ran is run again") {
  check_interrupted(*this, SIGTERM, "0s");
}

TEST_CASE_FIXTURE(SystemFixture, "P4: who joined a run has it as soon as its holder drains") {
  const std::string gate = "while [ ! -e '" + path("go") + "' ]; do sleep 0.02; done";
  const nlohmann::json pipeline{
      {"pipeline", "p"},
      {"nodes", {{{"id", "only"}, {"command", logged_command(log_path(), gate)}}}}};
  const std::string text = file("p.json", pipeline.dump());
  const auto holder = launch({"run", text, "--drain-grace", "0s"});
  REQUIRE(eventually_logged("start", 1));
  // Its own tick would be an hour away.
  const auto joined = launch({"run", text, "--tick", "1h"});
  REQUIRE(eventually([&] { return contains(joined->err_so_far(), "joins p/1"); }));
  holder->signal(SIGTERM);
  CHECK(holder->wait().exit_code == 5);
  CHECK(eventually_logged("start", 2));
  file("go", "");
  CHECK(joined->wait().exit_code == 0);
  check_verified();
}

}  // namespace
}  // namespace stagecall::testing
