// Redis stands still, is gone or has forgotten everything while runs are held: that costs time, and
// no run fails by it.
#include "tests/system/redis_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

/// A node that waits for the file `go`, and says in the run log that it was told to end.
std::string told_node(const RedisFixture& fixture, const std::string& members) {
  const std::string trap = R"(trap 'echo "told $STAGECALL_KEY" >> "$0"; exit 1' TERM; )";
  const nlohmann::json command = logged_command(fixture.log_path(), trap + fixture.until("go"));
  return one_node("p", members + R"("command":)" + command.dump());
}

bool eventually_parked(RedisFixture& fixture, bool is_parked) {
  return eventually([&] { return fixture.status_member("p", "parked").is_string() == is_parked; });
}

TEST_CASE_FIXTURE(
    RedisFixture,
    "L21: Redis stands still, or is gone and comes back empty: runs park and resume") {
  for (const bool is_gone : {false, true}) {
    CAPTURE(is_gone);
    std::filesystem::remove(log_path());
    std::filesystem::remove(path("go"));
    const auto running = launch(run_of(gated_file("p", 3)));
    REQUIRE(eventually_logged("start", 1));
    if (is_gone) {
      redis.kill();
    } else {
      redis.pause();
    }
    REQUIRE(eventually_parked(*this, true));
    CHECK(call_json({"status", "p"}, 0)["status"] == "running");
    file("go", "");
    REQUIRE(eventually_logged("end", 1));
    CHECK(count("start") == 1);
    if (is_gone) {
      redis.start();
    } else {
      redis.go_on();
    }
    const ChildEnd end = running->wait();
    INFO(end.err);
    CHECK(end.exit_code == 0);
    CHECK(std::count(end.err.begin(), end.err.end(), '\n') < 30);
    CHECK(count("start") == 3);
    CHECK(faults_of(log(), {{"n0", {}}, {"n1", {"n0"}}, {"n2", {"n1"}}}).empty());
    CHECK(keys().empty());
  }
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture,
                  "T2: a stop acts while Redis is away, the run ends stopped afterwards") {
  const auto running = launch(run_of(file("p.json", told_node(*this, ""))));
  REQUIRE(eventually_logged("start", 1));
  redis.pause();
  REQUIRE(eventually_parked(*this, true));
  CHECK(count("told") == 0);
  CHECK(call_json({"stop", "p"}, 0)["changed"] == true);
  CHECK(eventually_logged("told", 1));
  CHECK(status_member("p", "status") == "running");
  redis.go_on();
  CHECK(running->wait().exit_code == 3);
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture, "T2: a deadline acts while Redis is away, and counts as one try") {
  const auto running = launch(run_of(file(
      "p.json", told_node(*this, R"("timeout":"3s","retry":{"max_attempts":2,"delay":"1ms"},)"))));
  REQUIRE(eventually_logged("start", 1));
  redis.pause();
  REQUIRE(eventually_logged("told", 1));
  CHECK(status_member("p", "parked").is_string());
  redis.go_on();
  REQUIRE(eventually_logged("start", 2));
  file("go", "");
  CHECK(running->wait().exit_code == 0);
  const auto events = history("p");
  CHECK(std::count_if(events.begin(), events.end(), [](const nlohmann::json& line) {
          return line["kind"] == "attempt_ended" && line["outcome"] == "timed_out";
        }) == 1);
  check_verified();
}

TEST_CASE_FIXTURE(
    RedisFixture,
    "T1: FLUSHALL under two replicas: one holds the run again, its command runs once") {
  const std::string pipeline = gated_file("p", 2);
  const auto first = launch(run_of(pipeline));
  REQUIRE(eventually_logged("start", 1));
  const auto second = launch(run_of(pipeline));
  REQUIRE(eventually([&] { return contains(second->err_so_far(), "joins p/1"); }));
  for (int term = 2; term < 5; ++term) {
    redis.ask({"FLUSHALL"});
    REQUIRE(eventually([&] {
      const auto events = history("p");
      return !events.empty() && events.back().value("term", 0) >= term && keys().size() == 1;
    }));
  }
  file("go", "");
  for (const auto* each : {&first, &second}) {
    const ChildEnd end = (*each)->wait();
    INFO(end.err);
    CHECK(end.exit_code == 0);
  }
  CHECK(count("start") == 2);
  CHECK(count("end") == 2);
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture,
                  "L18: a run on a quorum goes on without one of three, and parks without two") {
  RedisProcess second;
  RedisProcess third;
  nlohmann::json pipeline{{"pipeline", "p"}, {"nodes", nlohmann::json::array()}};
  for (const std::string node : {"n0", "n1", "n2"}) {
    pipeline["nodes"].push_back(
        {{"id", node}, {"command", logged_command(log_path(), until("go-" + node))}});
  }
  pipeline["nodes"][1]["after"] = {"n0"};
  pipeline["nodes"][2]["after"] = {"n1"};
  auto arguments = run_of(file("p.json", pipeline.dump()));
  for (const RedisProcess* more : {&second, &third}) {
    arguments.insert(arguments.end(),
                     {"--leases", "redis://127.0.0.1:" + std::to_string(more->port())});
  }
  const auto running = launch(arguments);
  REQUIRE(eventually_logged("start", 1));
  third.kill();
  // Some ttls later.
  REQUIRE(eventually([&] { return status_member("p", "seconds") > 3.0; }));
  CHECK_FALSE(status_member("p", "parked").is_string());
  file("go-n0", "");
  REQUIRE(eventually_logged("start", 2));
  second.pause();
  REQUIRE(eventually_parked(*this, true));
  file("go-n1", "");
  REQUIRE(eventually_logged("end", 2));
  CHECK(count("start") == 2);
  second.go_on();
  REQUIRE(eventually_logged("start", 3));
  file("go-n2", "");
  const ChildEnd end = running->wait();
  INFO(end.err);
  CHECK(end.exit_code == 0);
  CHECK(keys().empty());
  check_verified();
}

}  // namespace
}  // namespace stagecall::testing
