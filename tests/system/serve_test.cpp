// One replica, and requests beside it: adopts, reacts, drains.
#include "tests/system/replica_fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <random>

namespace stagecall::testing {
namespace {

/// Commands in four chains beside each other, and what waits for what.
nlohmann::json short_commands(const SystemFixture& fixture, int nodes, Dependencies& dependencies) {
  nlohmann::json pipeline{{"pipeline", "short"}, {"nodes", nlohmann::json::array()}};
  for (int node = 0; node < nodes; ++node) {
    const std::string id = "n" + std::to_string(node);
    dependencies[id] = {};
    if (node >= 4) {
      dependencies[id].push_back("n" + std::to_string(node - 4));
    }
    pipeline["nodes"].push_back({{"id", id},
                                 {"after", dependencies[id]},
                                 {"command", logged_command(fixture.log_path(), "sleep 0.03")}});
  }
  return pipeline;
}

TEST_CASE_FIXTURE(ReplicaFixture, "a replica makes its store, runs what is there and what comes") {
  const auto replica = serve("a", {"--tick", "1h"});
  CHECK(has_store());
  Dependencies dependencies;
  start("short", short_commands(*this, 8, dependencies).dump());
  CHECK(call({"wait", "short"}).exit_code == 0);
  start("again", one_node("again", R"("command":["true"])"));
  CHECK(call({"wait", "again"}).exit_code == 0);
  CHECK(faults_of(log(), dependencies) == std::vector<std::string>{});
  const auto served = drain(replica);
  CHECK(served["replica"] == "a");
  CHECK(served["store"] == store());
  CHECK(served["runs"] == nlohmann::json{{"adopted", 2}, {"ended", 2}, {"handed_over", 0}});
  CHECK(served["launched"] == 9);
  CHECK(processes().empty());
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture, "H10: a start, a report and a stop reach a replica by nudge") {
  const auto replica = serve("a", {"--tick", "1h"});
  const nlohmann::json pipeline{{"pipeline", "gate"},
                                {"nodes",
                                 {{{"id", "approve"}, {"external", true}},
                                  {{"id", "work"},
                                   {"after", {"approve"}},
                                   {"command", logged_command(log_path(), "exec sleep 100")}}}}};
  start("gate", pipeline.dump());
  REQUIRE(eventually_has("gate", "running", 1));
  CHECK(call_json({"node-done", "gate", "approve", "--outcome", "succeeded"}, 0)["changed"] ==
        true);
  REQUIRE(eventually_logged("start", 1));
  CHECK(call_json({"stop", "gate"}, 0)["changed"] == true);
  CHECK(call({"wait", "gate"}).exit_code == 3);
  CHECK(call_json({"status", "gate"}, 0)["passes"]["tick"] == 0);
  drain(replica);
  CHECK(count("start") == 1);
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture, "H10: a nudge that is lost costs a tick, nothing else") {
  const auto replica = serve("a");
  start("gate", one_node("gate", R"("external":true)"));
  REQUIRE(eventually_has("gate", "running", 1));
  std::filesystem::remove_all(store() + ".d/nudge");
  CHECK(call_json({"node-done", "gate", "only", "--outcome", "succeeded"}, 0)["changed"] == true);
  CHECK(call({"wait", "gate"}).exit_code == 0);
  start("later", one_node("later", R"("command":["true"])"));
  CHECK(call({"wait", "later"}).exit_code == 0);
  drain(replica);
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture,
                  "E2: told to end at any moment a replica drains and leaves nothing") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  constexpr std::size_t kNodes = 60;
  Dependencies dependencies;
  start("short", short_commands(*this, kNodes, dependencies).dump());
  for (int time = 0; time < 6 && count("end") < kNodes; ++time) {
    const std::string grace = random() % 2 == 0 ? "0s" : "1h";
    const auto replica =
        serve("r" + std::to_string(time), {"--slots", "4", "--drain-grace", grace});
    const std::size_t goal = std::min(count("start") + random() % 12, kNodes);
    REQUIRE(eventually_logged("start", goal));
    drain(replica, random() % 2 == 0 ? SIGTERM : SIGINT);
    CHECK(processes().empty());
    CHECK(leased() == std::vector<std::string>{});
  }
  const auto last = serve("last", {"--slots", "4"});
  CHECK(call({"wait", "short"}).exit_code == 0);
  drain(last);
  CHECK(count("end") == kNodes);
  CHECK(faults_of(log(), dependencies) == std::vector<std::string>{});
  CHECK(faults_of_history(history("short"), dependencies) == std::vector<std::string>{});
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture,
                  "E3: interrupted twice a replica quits, and its runs lose nothing") {
  start("chain", gated_chain("chain", 2).dump());
  const auto replica = serve("a", {"--drain-grace", "1h"});
  REQUIRE(eventually_logged("start", 1));
  CHECK(eventually([&] {
    replica->signal(SIGINT);
    return replica->has_ended();
  }));
  CHECK(replica->wait().exit_code == 5);
  CHECK(eventually_no_process());
  file("go", "");
  const auto next = serve("b");
  CHECK(call({"wait", "chain"}).exit_code == 0);
  drain(next);
  CHECK(count("start") == 3);  // the first one was ended with its replica
  CHECK(count("end") == 2);
  CHECK(faults_of(log(), {{"n0", {}}, {"n1", {"n0"}}}) == std::vector<std::string>{});
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture, "a replica that cannot open its store says so and ends") {
  file("not.db", "this is no database, whatever its name says");
  const ChildEnd end = call({"serve", "--store", path("not.db"), "--json"});
  CHECK(end.exit_code == 4);
  CHECK(nlohmann::json::parse(end.out)["error"]["code"] == "store_damaged");
  CHECK(call({"serve", "--tick", "1ms"}).exit_code == 2);
  CHECK(call({"serve", "surplus"}).exit_code == 2);
  CHECK_FALSE(has_store());
}

}  // namespace
}  // namespace stagecall::testing
