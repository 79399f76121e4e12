// `--http ADDRESS:PORT`: what an engine answers there.
#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>
#include <httplib.h>

namespace stagecall::testing {
namespace {

/// Where it says that it answers.
int port_of(const ChildProcess& process) {
  const std::string word = "answers http://127.0.0.1:";
  int port = 0;
  eventually([&] {
    const std::string text = process.err_so_far();
    const auto found = text.find(word);
    port = found == std::string::npos ? 0 : std::atoi(text.c_str() + found + word.size());
    return port > 0;
  });
  return port;
}

nlohmann::json json_at(httplib::Client& client, const std::string& path, int status) {
  const auto response = client.Get(path);
  REQUIRE(response);
  CHECK(response->status == status);
  CHECK(response->get_header_value("Content-Type") == "application/json");
  return nlohmann::json::parse(response->body);
}

}  // namespace

TEST_CASE_FIXTURE(CliFixture, "an engine answers over HTTP what it does, and its metrics") {
  const std::string pipeline = file("p.json", one_node("p", R"("external":true)"));
  const auto replica = launch({"run", pipeline, "--http", "127.0.0.1:0", "--replica", "r"});
  const int port = port_of(*replica);
  REQUIRE(port > 0);
  REQUIRE(eventually_has("p", "running", 1));
  httplib::Client client{"127.0.0.1", port};
  const auto health = json_at(client, "/health", 200);
  CHECK(health["status"] == "ok");
  CHECK(health["replica"] == "r");
  CHECK(json_at(client, "/inspect", 200)["runs"] == 1);
  const auto runs = json_at(client, "/runs", 200)["runs"];
  REQUIRE(runs.size() == 1);
  CHECK(runs.front()["pipeline"] == "p");
  CHECK(json_at(client, "/runs/p/1", 200)["nodes"]["running"] == 1);
  CHECK(json_at(client, "/runs/p/2", 404)["error"]["code"] == "not_found");
  CHECK(json_at(client, "/runs/nothing", 404)["error"]["code"] == "not_found");

  const auto metrics = client.Get("/metrics");
  REQUIRE(metrics);
  CHECK(metrics->status == 200);
  CHECK(contains(metrics->body, "# TYPE stagecall_store_commits_total counter"));
  CHECK(contains(metrics->body, "stagecall_runs_held{replica=\"r\"} 1"));
  CHECK(contains(metrics->body, "stagecall_mailbox{replica=\"r\",actor=\"store\"}"));

  const auto taken = call_json({"run", file("q.json", one_node("q", R"("task":"noop")")), "--http",
                                "127.0.0.1:" + std::to_string(port)},
                               2);
  CHECK(taken["error"]["code"] == "invalid_argument");
  CHECK(call({"node-done", "p", "only", "--outcome", "succeeded"}).exit_code == 0);
  CHECK(replica->wait().exit_code == 0);
}

TEST_CASE_FIXTURE(CliFixture, "an address that is none is refused") {
  const std::string pipeline = file("p.json", one_node("p", R"("task":"noop")"));
  for (const std::string address : {"8080", ":8080", "127.0.0.1:", "127.0.0.1:70000", "h:x"}) {
    CAPTURE(address);
    CHECK(call_json({"run", pipeline, "--http", address}, 2)["error"]["code"] ==
          "invalid_argument");
  }
  CHECK_FALSE(has_store());
}

}  // namespace stagecall::testing
