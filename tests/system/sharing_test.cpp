// Several processes at one store at the same time.
#include "tests/support/paths.hpp"
#include "tests/system/system_fixture.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace stagecall::testing {
namespace {

TEST_CASE_FIXTURE(SystemFixture,
                  "R3: two processes run one file at once: one run, both see its end") {
  const std::string pipeline = file("p.json", gated_chain("chain", 3).dump());
  const auto first = launch({"run", pipeline, "--json"});
  const auto second = launch({"run", pipeline, "--json"});
  REQUIRE(eventually_logged("start", 1));
  file("go", "");
  for (const auto* each : {&first, &second}) {
    const ChildEnd end = (*each)->wait();
    INFO(end.err);
    CHECK(end.exit_code == 0);
    CHECK(nlohmann::json::parse(end.out)["iteration"] == 1);
  }
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
  CHECK(count("start") == 3);
  CHECK(processes().empty());
  check_verified();
}

TEST_CASE_FIXTURE(SystemFixture, "R3: twenty starts at once make one run") {
  const std::string pipeline = file("p.json", one_node("p", R"("external":true)"));
  CHECK(created_by_twenty_starts(pipeline) == 1);
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
  check_verified();
}

TEST_CASE_FIXTURE(SystemFixture, "P1: who joined a run takes it over when its holder is killed") {
  const std::string pipeline = file("p.json", gated_chain("chain", 3).dump());
  const auto holder = launch({"run", pipeline});
  REQUIRE(eventually_logged("start", 1));
  const auto joined = launch({"run", pipeline, "--tick", "200ms"});
  REQUIRE(eventually([&] { return contains(joined->err_so_far(), "joins chain/1"); }));
  holder->signal(SIGKILL);
  holder->wait();
  REQUIRE(eventually_logged("start", 2));  // the lost attempt is followed by another
  file("go", "");
  const ChildEnd end = joined->wait();
  INFO(end.err);
  CHECK(end.exit_code == 0);
  CHECK(count("start") == 4);
  CHECK(count("end") == 3);
  CHECK(eventually_no_process());
  check_verified();
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a changed file is refused while its run lives, and disturbs nothing") {
  const std::string pipeline = file("p.json", gated_chain("chain", 2).dump());
  const auto running = launch({"run", pipeline});
  REQUIRE(eventually_logged("start", 1));
  const auto error = call_json({"run", file("p.json", gated_chain("chain", 3).dump())}, 2)["error"];
  CHECK(error["code"] == "different_pipeline");
  file("go", "");
  CHECK(running->wait().exit_code == 0);
  CHECK(count("start") == 2);
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
  check_verified();
}

/// Starts, asks after and stops runs of its own, so many times, in one process after another.
std::vector<std::string> hammer(const std::string& pipeline, const std::string& name) {
  const std::string call = "'" + testing::binary_folder() + "/stagecall' ";
  const std::string script = "i=0; while [ $i -lt 12 ]; do i=$((i+1)); " + call + "start '" +
                             pipeline + "' && " + call + "status && " + call + "stop " + name +
                             " && " + call + "history " + name + " || exit 1; done";
  return {"/bin/sh", "-c", script};
}

TEST_CASE_FIXTURE(SystemFixture, "S1: two hammers on one store disturb no run and meet no error") {
  nlohmann::json pipeline = gated_chain("chain", 40);
  const auto running = launch({"run", file("p.json", pipeline.dump()), "--tick", "100ms"});
  REQUIRE(eventually_logged("start", 1));
  file("go", "");
  std::vector<std::unique_ptr<ChildProcess>> hammers;
  for (const std::string name : {"a", "b"}) {
    hammers.push_back(
        launch_program(hammer(file(name + ".json", one_node(name, R"("external":true)")), name)));
  }
  for (const auto& each : hammers) {
    const ChildEnd end = each->wait(kLongRun);
    INFO(end.err);
    CHECK(end.exit_code == 0);
  }
  CHECK(running->wait(kLongRun).exit_code == 0);
  CHECK(count("start") == 40);
  check_verified();
}

}  // namespace
}  // namespace stagecall::testing
