// What one process asks reaches the run that another one holds. Its tick is an hour: nothing but
// the nudge can have carried it within a test's patience.
#include "tests/system/system_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

TEST_CASE_FIXTURE(SystemFixture, "H2: a stop reaches a running command without a tick") {
  const std::string body =
      R"(trap 'echo "told $STAGECALL_KEY $$" >> "$0"; exit 1' TERM; while :; do sleep 0.05; done)";
  const nlohmann::json pipeline{
      {"pipeline", "long"},
      {"nodes",
       {{{"id", "busy"}, {"command", logged_command(log_path(), body)}},
        {{"id", "later"}, {"after", {"busy"}}, {"command", logged_command(log_path(), ":")}}}}};
  const auto running = launch({"run", file("p.json", pipeline.dump()), "--tick", "1h", "--json"});
  REQUIRE(eventually_logged("start", 1));
  CHECK(call_json({"stop", "long"}, 0)["changed"] == true);
  CHECK(eventually_logged("told", 1));
  const ChildEnd end = running->wait();
  CHECK(end.exit_code == 3);
  const auto value = nlohmann::json::parse(end.out);
  CHECK(value["nodes"]["stopped"] == 2);
  CHECK(value["passes"]["tick"] == 0);
  CHECK(count("start") == 1);
  CHECK(count("end") == 0);
  CHECK(processes().empty());
  check_verified();
}

TEST_CASE_FIXTURE(SystemFixture, "H3: a node-done reaches its run, and frees the next command") {
  const nlohmann::json pipeline{
      {"pipeline", "gate"},
      {"nodes",
       {{{"id", "approve"}, {"external", true}},
        {{"id", "work"}, {"after", {"approve"}}, {"command", logged_command(log_path(), ":")}}}}};
  const auto running = launch({"run", file("p.json", pipeline.dump()), "--tick", "1h", "--json"});
  REQUIRE(eventually_has("gate", "running", 1));
  CHECK(call_json({"node-done", "gate", "approve", "--outcome", "succeeded"}, 0)["changed"] ==
        true);
  const ChildEnd end = running->wait();
  CHECK(end.exit_code == 0);
  CHECK(nlohmann::json::parse(end.out)["passes"]["tick"] == 0);
  CHECK(count("end") == 1);
  check_verified();
}

}  // namespace
}  // namespace stagecall::testing
