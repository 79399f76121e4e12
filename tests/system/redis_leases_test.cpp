// Who may schedule, when leases stand in Redis: real processes on one store and a real server.
#include "tests/system/redis_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

TEST_CASE_FIXTURE(RedisFixture,
                  "a run on leases in Redis has one key there, with a TTL, until its end") {
  const auto running = launch(run_of(gated_file("p", 2)));
  REQUIRE(eventually_logged("start", 1));
  const auto held = keys();
  REQUIRE(held.size() == 1);
  CHECK(held.front().starts_with("stagecall:{"));
  CHECK(held.front().ends_with("}:lease:p/1"));
  const int ttl = std::stoi(redis.ask({"PTTL", held.front()}));
  CHECK(ttl > 0);
  CHECK(ttl <= 1'000);
  CHECK(contains(redis.ask({"GET", held.front()}), "pid=" + std::to_string(running->pid())));
  file("go", "");
  const ChildEnd end = running->wait();
  INFO(end.err);
  CHECK(end.exit_code == 0);
  CHECK(keys().empty());
  CHECK(processes().empty());
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture, "H8: of two processes on leases in Redis one schedules a run") {
  const std::string pipeline = gated_file("p", 3);
  const auto first = launch(run_of(pipeline));
  REQUIRE(eventually_logged("start", 1));
  const auto second = launch(run_of(pipeline, {"--log-level", "debug"}));
  REQUIRE(eventually([&] { return contains(second->err_so_far(), "run_skipped run=p/1"); }));
  CHECK_FALSE(contains(second->err_so_far(), "error"));
  file("go", "");
  CHECK(first->wait().exit_code == 0);
  CHECK(second->wait().exit_code == 0);
  CHECK(count("start") == 3);
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture,
                  "P1: leases in Redis: a killed holder's run is taken over after a ttl") {
  const std::string pipeline = gated_file("p", 2);
  const auto holder = launch(run_of(pipeline));
  REQUIRE(eventually_logged("start", 1));
  const auto joined = launch(run_of(pipeline));
  REQUIRE(eventually([&] { return contains(joined->err_so_far(), "joins p/1"); }));
  holder->signal(SIGKILL);
  holder->wait();
  REQUIRE(eventually_logged("start", 2));
  file("go", "");
  const ChildEnd end = joined->wait();
  INFO(end.err);
  CHECK(end.exit_code == 0);
  CHECK(keys().empty());
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture,
                  "T9: who names other leases than a live engine is refused, both named") {
  const std::string pipeline = gated_file("p", 1);
  const auto running = launch(run_of(pipeline));
  REQUIRE(eventually_logged("start", 1));
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& other) {
    const auto error = call_json(arguments, 2)["error"];
    CHECK(error["code"] == "lease_authority");
    CHECK(contains(error["message"], server()));
    CHECK(contains(error["message"], other));
  };
  refused({"run", pipeline}, "the file beside it");
  refused({"run", pipeline, "--leases", url(1)}, server(1));
  // Who only asks or requests needs none.
  CHECK(call_json({"status", "p"}, 0)["status"] == "running");
  CHECK(call_json({"stop", "p"}, 0)["changed"] == true);
  CHECK(running->wait().exit_code == 3);
  // Alone, anybody may move the leases.
  file("go", "");
  for (const auto& arguments : {std::vector<std::string>{"run", pipeline},
                                {"run", pipeline, "--leases", url(1)},
                                run_of(pipeline)}) {
    CHECK(call(arguments).exit_code == 0);
  }
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture, "T9: of two replicas of one name the second is refused") {
  const auto running = launch(run_of(gated_file("p", 1), {"--replica", "one"}));
  REQUIRE(eventually_logged("start", 1));
  const auto error =
      call_json(run_of(file("q.json", one_node("q", R"("external":true)")), {"--replica", "one"}),
                2)["error"];
  CHECK(error["code"] == "invalid_argument");
  CHECK(contains(error["message"], "\"one\""));
  CHECK(contains(error["message"], std::to_string(running->pid())));
  file("go", "");
  CHECK(running->wait().exit_code == 0);
}

TEST_CASE_FIXTURE(RedisFixture,
                  "L21: a run begun while Redis is away waits, says so, and goes on") {
  redis.stop();
  file("go", "");
  const auto running = launch(run_of(gated_file("p", 2)));
  REQUIRE(eventually([&] { return contains(running->err_so_far(), "p/1 waits: leases"); }));
  REQUIRE(eventually([&] { return status_member("p", "parked").is_string(); }));
  CHECK(call_json({"status", "p"}, 0)["status"] == "running");
  CHECK(count("start") == 0);
  redis.start();
  const ChildEnd end = running->wait();
  INFO(end.err);
  CHECK(end.exit_code == 0);
  CHECK(count("start") == 2);
  check_verified();
}

TEST_CASE_FIXTURE(RedisFixture,
                  "X8: a wrong password ends with 4 and shows nowhere, as does a right one") {
  redis.restart({"--requirepass", "right-secret"});
  redis.set_password("right-secret");
  const std::string pipeline = gated_file("p", 1);
  const auto with = [&](const std::string& password) {
    return "redis://:" + password + "@" + server();
  };
  const ChildEnd refused = call({"run", pipeline, "--leases", with("wrong-secret")});
  CHECK(refused.exit_code == 4);
  CHECK(contains(refused.err, "refuses the password"));
  CHECK_FALSE(contains(refused.err, "secret"));
  CHECK(call({"run", pipeline, "--leases", url()}).exit_code == 4);
  CHECK(call_json({"status"}, 0)["runs"].empty());

  set("STAGECALL_LEASES", with("right-secret"));
  const auto running = launch({"run", pipeline, "--log-level", "trace"});
  REQUIRE(eventually_logged("start", 1));
  file("go", "");
  const ChildEnd end = running->wait();
  CHECK(end.exit_code == 0);
  CHECK_FALSE(contains(end.err, "secret"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator{path("state")}) {
    if (entry.is_regular_file()) {
      CHECK_FALSE(contains(read_file(entry.path()), "right-secret"));
    }
  }
}

}  // namespace
}  // namespace stagecall::testing
