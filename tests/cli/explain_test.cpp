// explain and the age of running nodes, asked of real runs.
#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>
#include <signal.h>

namespace stagecall::testing {
namespace {

using nlohmann::json;

json only_node(const json& value) {
  REQUIRE(value["nodes"].size() == 1);
  return value["nodes"][0];
}

TEST_CASE_FIXTURE(CliFixture,
                  "explain tells of a run that nobody schedules, and of tasks it lacks") {
  const std::string pipeline = file("p.json", R"({"pipeline":"p","nodes":[
    {"id":"here","task":"noop"},
    {"id":"T13","task":"checksum"},
    {"id":"ask","external":true},
    {"id":"later","after":["here","ask"]}]})");
  CHECK(call({"start", pipeline}).exit_code == 0);
  const auto value = call_json({"explain", "p"}, 0);
  CHECK(value["run"] == "p/1");
  REQUIRE(value["nodes"].size() == 4);
  CHECK(value["nodes"][0]["node"] == "here");
  CHECK(value["nodes"][0]["state"] == "ready");
  CHECK(value["nodes"][0]["reason"] == "lease");
  CHECK_FALSE(value["nodes"][0].contains("until"));
  CHECK_FALSE(value["nodes"][0].contains("culprits"));
  CHECK(value["nodes"][1]["reason"] == "task_missing");
  CHECK(value["nodes"][2]["reason"] == "external");
  CHECK(value["nodes"][3]["reason"] == "dependency");
  CHECK(value["nodes"][3]["culprits"] == json::array({"here", "ask"}));
  CHECK(only_node(call_json({"explain", "p/1", "later"}, 0)) == value["nodes"][3]);
  CHECK(contains(call({"explain", "p"}).out, "  here ready: nobody schedules the run"));
  for (const char* unknown : {"nobody", ""}) {
    CHECK(call_json({"explain", "p", unknown}, 2)["error"]["code"] == "not_found");
  }
}

TEST_CASE_FIXTURE(CliFixture, "explain tells of slots and backoff in a run that is scheduled") {
  const std::string pipeline = file("p.json", R"({"pipeline":"p","nodes":[
    {"id":"bad","command":["false"],"priority":2,
     "retry":{"max_attempts":2,"delay":"1h","max_delay":"1h"}},
    {"id":"long","command":["sleep","600"],"priority":1},
    {"id":"next","command":["true"]},
    {"id":"last","after":["bad"]}]})");
  const auto running = launch({"run", pipeline, "--slots", "1"});
  REQUIRE(eventually_has("p", "backoff", 1));
  REQUIRE(eventually_has("p", "running", 1));
  const auto value = call_json({"explain", "p"}, 0);
  REQUIRE(value["nodes"].size() == 3);
  CHECK(value["nodes"][0]["reason"] == "backoff");
  CHECK(value["nodes"][0]["until"].get<std::string>().size() == 24);
  CHECK(value["nodes"][1]["node"] == "next");
  CHECK(value["nodes"][1]["reason"] == "slot");
  CHECK(value["nodes"][1]["culprits"] == json::array({"long"}));
  CHECK(only_node(call_json({"explain", "p", "long"}, 0))["reason"] == "none");

  // R24: it is shown with its age.
  const auto status = call_json({"status", "p"}, 0);
  REQUIRE(status["running"].size() == 1);
  CHECK(status["running"][0]["node"] == "long");
  CHECK(status["running"][0]["attempt"] == 1);
  CHECK(status["running"][0]["seconds"] >= 0);
  CHECK(contains(call({"status", "p"}).out, "  long: attempt 1 runs for "));

  CHECK(call({"stop", "p"}).exit_code == 0);
  CHECK(running->wait().exit_code == 3);
  const auto stopped = call_json({"explain", "p"}, 0);
  CHECK(stopped["nodes"].size() == 4);
  CHECK(stopped["nodes"][3]["reason"] == "stopping");
  CHECK_FALSE(call_json({"status", "p"}, 0).contains("running"));
}

TEST_CASE_FIXTURE(CliFixture,
                  "explain counts the slots that the holder has, also those of other runs") {
  const auto serving = launch({"serve", "--slots", "1", "--replica", "there"});
  const std::string busy = file("busy.json", one_node("busy", R"("command":["sleep","600"])"));
  REQUIRE(eventually([&] { return call({"start", busy}).exit_code == 0; }));
  REQUIRE(eventually_has("busy", "running", 1));
  CHECK(call({"start", file("p.json", one_node("p", R"("task":"noop")"))}).exit_code == 0);
  json told;
  CHECK(eventually([&] {
    told = only_node(call_json({"explain", "p"}, 0));
    return told["reason"] == "slot";
  }));
  CHECK(told["text"] == "it waits for a slot; this run uses 0, 0 are free");

  // Whoever stands still says nothing: that is the reason, and nobody waits for it.
  serving->signal(SIGSTOP);
  told = only_node(call_json({"explain", "p"}, 0));
  CHECK(told["reason"] == "lease");
  CHECK(told["text"] == "there schedules the run and does not answer now");
  const auto status = call_json({"status", "busy"}, 0);
  REQUIRE(status["running"].size() == 1);
  CHECK_FALSE(status["running"][0].contains("progress"));
  serving->signal(SIGCONT);
  CHECK(eventually([&] { return only_node(call_json({"explain", "p"}, 0))["reason"] == "slot"; }));
  CHECK(call({"stop", "busy"}).exit_code == 0);
  CHECK(call({"wait", "p"}).exit_code == 0);
}

TEST_CASE_FIXTURE(CliFixture, "explain names the failure behind what was skipped") {
  const std::string pipeline = file("p.json", R"({"pipeline":"p","nodes":[
    {"id":"bad","command":["sh","-c","exit 3"]},
    {"id":"x","after":["bad"]},{"id":"y","after":["x"]}]})");
  CHECK(call({"run", pipeline}).exit_code == 1);
  const auto value = call_json({"explain", "p"}, 0);
  CHECK(value["nodes"][0]["reason"] == "finished");
  CHECK(contains(value["nodes"][0]["text"], "exit 3"));
  CHECK(value["nodes"][2]["culprits"] == json::array({"bad"}));
  CHECK(contains(call({"explain", "p", "y"}).out, R"("bad" (failed))"));
}

}  // namespace
}  // namespace stagecall::testing
