// `inspect`: what the live processes of a store say of their actors.
#include "tests/system/system_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

std::vector<nlohmann::json> actors_of(const nlohmann::json& replica, const std::string& kind) {
  std::vector<nlohmann::json> found;
  for (const auto& actor : replica["actors"]) {
    if (actor["kind"] == kind) {
      found.push_back(actor);
    }
  }
  return found;
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "inspect lists the actors of each process on the store") {
  CHECK(call_json({"inspect"}, 2)["error"]["code"] == "not_found");
  std::vector<std::unique_ptr<ChildProcess>> replicas;
  for (const std::string name : {"p", "q"}) {
    replicas.push_back(launch({"run", file(name + ".json", one_node(name, R"("external":true)")),
                               "--replica", name, "--slots", "3"}));
    REQUIRE(eventually_has(name, "running", 1));
  }
  const auto value = call_json({"inspect"}, 0);
  REQUIRE(value["replicas"].size() == 2);
  std::set<std::string> names;
  for (const auto& replica : value["replicas"]) {
    names.insert(replica["replica"]);
    CHECK(replica["runs"] == 1);
    for (const std::string kind :
         {"supervisor", "store", "lock_manager", "slot_broker", "custodian"}) {
      CAPTURE(kind);
      const auto actors = actors_of(replica, kind);
      REQUIRE(actors.size() == 1);
      CHECK(actors.front()["busy"] == false);
      CHECK(actors.front()["handled"] >= 1);
      CHECK(actors.front()["mailbox"].is_number_unsigned());
    }
    CHECK(actors_of(replica, "slot_broker").front()["counters"]["slots"] == 3);
    const auto runs = actors_of(replica, "pipeline");
    REQUIRE(runs.size() == 1);
    const auto& run = runs.front();
    CHECK(run["run"] == replica["replica"].get<std::string>() + "/1");
    CHECK(run["state"] == "running");
    CHECK(run["term"] == 1);
    CHECK(run["attempts"] == 1);
    CHECK(run["parked"] == false);
    CHECK(run["next_tick_ms"] <= 5'000);
    CHECK(run["lease_left_ms"] > 0);
    CHECK(run["lease_left_ms"] <= 15'000);
    CHECK_FALSE(run["last_message"].get<std::string>().empty());
  }
  CHECK(names == std::set<std::string>{"p", "q"});

  const ChildEnd shown = call({"inspect"});
  CHECK(shown.exit_code == 0);
  CHECK(contains(shown.out, "p/1"));
  CHECK(contains(shown.out, "lock_manager"));

  replicas.front()->signal(SIGKILL);
  replicas.front()->wait();
  const auto left = call_json({"inspect"}, 0)["replicas"];
  REQUIRE(left.size() == 1);
  CHECK(left.front()["replica"] == "q");
  CHECK(call({"node-done", "q", "only", "--outcome", "succeeded"}).exit_code == 0);
  CHECK(replicas.back()->wait().exit_code == 0);
  CHECK(call_json({"inspect"}, 0)["replicas"].empty());
}

TEST_CASE_FIXTURE(SystemFixture, "inspect follows until it is interrupted") {
  const auto replica = launch({"run", file("p.json", one_node("p", R"("external":true)"))});
  REQUIRE(eventually_has("p", "running", 1));
  const auto following = launch({"inspect", "--follow", "--json"});
  REQUIRE(eventually([&] {
    const std::string text = following->out_so_far();
    return std::count(text.begin(), text.end(), '\n') >= 2;
  }));
  following->signal(SIGINT);
  const ChildEnd end = following->wait();
  CHECK(end.exit_code == 0);
  std::istringstream lines{end.out};
  for (std::string line; std::getline(lines, line);) {
    const auto value = nlohmann::json::parse(line);
    CHECK(value["replicas"].size() == 1);
  }
}

}  // namespace stagecall::testing
