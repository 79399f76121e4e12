#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

constexpr const char* kMixed = R"({"pipeline":"mixed","nodes":[
  {"id":"first"},
  {"id":"task","after":["first"],"task":"noop"},
  {"id":"nap","after":["first"],"task":"sleep","params":{"seconds":0.01}},
  {"id":"command","after":["task","nap"],"command":["sh","-c","echo out; echo err >&2"]}]})";

TEST_CASE_FIXTURE(CliFixture, "run ends as its run does: succeeded") {
  const std::string pipeline = file("p.json", kMixed);
  const auto value = call_json({"run", pipeline}, 0);
  CHECK(value["pipeline"] == "mixed");
  CHECK(value["iteration"] == 1);
  CHECK(value["status"] == "succeeded");
  CHECK(value["nodes"]["total"] == 4);
  CHECK(value["nodes"]["succeeded"] == 4);
  CHECK(value["failed"].empty());
  CHECK(value["passes"]["total"].get<int>() ==
        value["passes"]["tick"].get<int>() + value["passes"]["event"].get<int>());

  const ChildEnd end = call({"run", pipeline});
  CHECK(end.exit_code == 0);
  CHECK(end.out.empty());
  CHECK(end.err.starts_with("mixed/2 succeeded: 4 nodes in "));
  CHECK(call({"run", pipeline, "--quiet"}).err.empty());

  CHECK(call_json({"status"}, 0)["runs"].size() == 3);
  CHECK(call_json({"status", "mixed"}, 0)["iteration"] == 3);
  CHECK(call_json({"status", "mixed/1"}, 0) == value);
  CHECK(contains(call({"status"}).out, "mixed/3"));
  CHECK(call({"wait", "mixed"}).exit_code == 0);
  CHECK(call({"verify"}).exit_code == 0);
}

TEST_CASE_FIXTURE(CliFixture, "run ends as its run does: failed, with attempt and error") {
  const std::string pipeline = file("p.json", one_node("bad", R"("command":["sh","-c","exit 3"])"));
  const auto value = call_json({"run", pipeline}, 1);
  CHECK(value["status"] == "failed");
  CHECK(value["failed"] ==
        nlohmann::json::array(
            {{{"node", "only"}, {"attempt", 1}, {"outcome", "failed"}, {"error", "exit 3"}}}));
  const ChildEnd end = call({"run", pipeline});
  CHECK(end.exit_code == 1);
  CHECK(contains(end.err, "only: attempt 1 failed: exit 3"));
  CHECK(call({"wait", "bad/1"}).exit_code == 1);
}

TEST_CASE_FIXTURE(CliFixture, "a stop from another process reaches a running command") {
  const std::string pipeline = file("p.json", one_node("long", R"("command":["sleep","600"])"));
  const auto running = launch({"run", pipeline, "--json"});
  REQUIRE(eventually_has("long", "running", 1));
  const auto waiting = launch({"wait", "long"});
  const auto value = call_json({"stop", "long"}, 0);
  CHECK(value["changed"] == true);
  CHECK(value["pipeline"] == "long");
  const ChildEnd end = running->wait();
  CHECK(end.exit_code == 3);
  CHECK(nlohmann::json::parse(end.out)["status"] == "stopped");
  CHECK(waiting->wait().exit_code == 3);
  // It has ended: answered, nothing changed.
  CHECK(call_json({"stop", "long/1"}, 0)["changed"] == false);
  CHECK(call({"verify"}).exit_code == 0);
}

TEST_CASE_FIXTURE(CliFixture, "interrupted run stays alive and goes on with the same line") {
  const std::string flag = path("go");
  const std::string command =
      R"("command":["sh","-c","while [ ! -e )" + flag + R"( ]; do sleep 0.01; done"])";
  const std::string pipeline = file("p.json", one_node("held", command));
  const auto running = launch({"run", pipeline, "--drain-grace", "0s"});
  REQUIRE(eventually_has("held", "running", 1));
  running->signal(SIGINT);
  const ChildEnd end = running->wait();
  CHECK(end.exit_code == 5);
  CHECK(contains(end.err, "held/1 is alive; go on with: stagecall run " + pipeline));
  CHECK(call_json({"status", "held"}, 0)["status"] == "running");

  file("go", "");
  const auto value = call_json({"run", pipeline}, 0);
  CHECK(value["iteration"] == 1);
  CHECK(value["status"] == "succeeded");
  CHECK(call({"verify"}).exit_code == 0);
}

TEST_CASE_FIXTURE(CliFixture, "E3: a second interrupt quits at once, and the run goes on later") {
  const std::string pipeline = file("p.json", one_node("held", R"("command":["sleep","600"])"));
  const auto running = launch({"run", pipeline, "--drain-grace", "1h"});
  REQUIRE(eventually_has("held", "running", 1));
  running->signal(SIGINT);
  running->signal(SIGTERM);
  CHECK(running->wait().exit_code == 5);
  CHECK(call_json({"status", "held"}, 0)["status"] == "running");
  CHECK(call_json({"stop", "held"}, 0)["changed"] == true);
  CHECK(call({"run", pipeline, "--tick", "50ms"}).exit_code == 3);
}

TEST_CASE_FIXTURE(CliFixture, "run of a file that differs from the live run is refused") {
  const std::string pipeline = file("p.json", one_node("p", R"("external":true)"));
  CHECK(call_json({"start", pipeline}, 0)["created"] == true);
  CHECK(call_json({"start", pipeline}, 0)["created"] == false);
  const std::string other = file("q.json", one_node("p", R"("task":"noop")"));
  const auto error = call_json({"run", other}, 2)["error"];
  CHECK(error["code"] == "different_pipeline");
  CHECK(contains(error["message"], "p/1"));
  CHECK(contains(error["message"], other));
  const ChildEnd again = call({"start", other});
  CHECK(again.exit_code == 0);
  CHECK(contains(again.err, "p/1 is there already, with another definition"));
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
}

TEST_CASE_FIXTURE(CliFixture, "a request id makes a start repeatable") {
  const std::string pipeline = file("p.json", one_node("p", R"("task":"noop")"));
  CHECK(call_json({"run", pipeline, "--request-id", "once"}, 0)["iteration"] == 1);
  CHECK(call_json({"run", pipeline, "--request-id", "once"}, 0)["iteration"] == 1);
  const auto value = call_json({"start", pipeline, "--request-id", "once"}, 0);
  CHECK(value["iteration"] == 1);
  CHECK(value["created"] == false);
  CHECK(call_json({"run", pipeline, "--request-id", "again"}, 0)["iteration"] == 2);
}

TEST_CASE_FIXTURE(CliFixture, "run schedules a run that was only started, and joins a held one") {
  const std::string flag = path("go");
  const std::string pipeline =
      file("p.json", one_node("p", R"("command":["sh","-c","while [ ! -e )" + flag +
                                       R"( ]; do sleep 0.01; done"])"));
  CHECK(call({"start", pipeline}).exit_code == 0);
  const auto first = launch({"run", pipeline});
  REQUIRE(eventually_has("p", "running", 1));
  const auto second = launch({"run", pipeline});
  REQUIRE(eventually([&] { return contains(second->err_so_far(), "joins p/1"); }));
  file("go", "");
  CHECK(first->wait().exit_code == 0);
  CHECK(second->wait().exit_code == 0);
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
  CHECK(call_json({"status", "p"}, 0)["nodes"]["succeeded"] == 1);
}

TEST_CASE_FIXTURE(CliFixture, "T3: node-done ends the external node that waits, others are named") {
  const std::string pipeline = file("p.json", R"({"pipeline":"p","nodes":[
    {"id":"approve","external":true},
    {"id":"later","after":["approve"],"external":true},
    {"id":"work","after":["later"],"command":["true"]}]})");
  const auto running = launch({"run", pipeline});
  REQUIRE(eventually_has("p", "running", 1));
  const auto refusal = [this](const std::string& node, std::vector<std::string> more) {
    std::vector<std::string> arguments{"node-done", "p", node, "--outcome", "succeeded"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto error = call_json(arguments, 2)["error"];
    CHECK(contains(error["message"], node));
    return error["code"].get<std::string>();
  };
  CHECK(refusal("work", {}) == "not_external");
  CHECK(refusal("later", {}) == "not_waiting");
  CHECK(refusal("nobody", {}) == "not_found");
  CHECK(refusal("approve", {"--attempt", "7"}) == "old_attempt");

  const std::vector<std::string> done{"node-done", "p",        "approve",    "--outcome",
                                      "succeeded", "--output", R"([1,"x"])", "--request-id",
                                      "r1"};
  CHECK(call_json(done, 0)["changed"] == true);
  REQUIRE(eventually_has("p", "succeeded", 1));
  CHECK(call_json(done, 0)["changed"] == false);  // the same request again
  CHECK(refusal("approve", {}) == "not_waiting");

  CHECK(call_json({"node-done", "p", "later", "--outcome", "failed"}, 0)["changed"] == true);
  CHECK(running->wait().exit_code == 1);
  CHECK(call_json({"node-done", "p", "later", "--outcome", "failed"}, 0)["changed"] == false);
}

TEST_CASE_FIXTURE(CliFixture, "an operator may end any node by force, with a reason") {
  const std::string pipeline = file("p.json", one_node("p", R"("command":["sleep","600"])"));
  const auto running = launch({"run", pipeline});
  REQUIRE(eventually_has("p", "running", 1));
  CHECK(call({"node-done", "p", "only", "--outcome", "succeeded", "--force", "--reason", "seen"})
            .exit_code == 0);
  CHECK(running->wait().exit_code == 0);
  CHECK(contains(call({"history", "p"}).out, "reason=seen"));
}

TEST_CASE_FIXTURE(CliFixture, "an unknown run or node is not found, a missing store too") {
  CHECK(call_json({"status"}, 2)["error"]["code"] == "not_found");
  CHECK_FALSE(has_store());
  const std::string pipeline = file("p.json", one_node("p", R"("task":"noop")"));
  CHECK(call({"run", pipeline}).exit_code == 0);
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"status", "q"},
                                             {"stop", "p/2"},
                                             {"wait", "q"},
                                             {"history", "q/1"},
                                             {"verify", "q"},
                                             {"logs", "p", "nobody"},
                                             {"logs", "p", "only"},
                                             {"node-done", "p", "x", "--outcome", "failed"}}) {
    CAPTURE(arguments.front());
    CHECK(call_json(arguments, 2)["error"]["code"] == "not_found");
  }
}

TEST_CASE_FIXTURE(CliFixture, "a run is the whole text if no such iteration exists") {
  const std::string pipeline = file("p.json", one_node("a/7", R"("task":"noop")"));
  CHECK(call({"run", pipeline}).exit_code == 0);
  CHECK(call_json({"status", "a/7"}, 0)["iteration"] == 1);
  CHECK(call_json({"status", "a/7/1"}, 0)["pipeline"] == "a/7");
}

TEST_CASE_FIXTURE(CliFixture, "logs gives a command's bytes, and JSON whatever they are") {
  const std::string pipeline =
      file("p.json", one_node("p", R"("command":["printf","a\\377b\\n"])"));
  CHECK(call({"run", pipeline}).exit_code == 0);
  CHECK(call({"logs", "p", "only"}).out ==
        "a\xff"
        "b\n");
  CHECK(call({"logs", "p", "only", "--attempt", "2"}).exit_code == 2);
  const auto value = call_json({"logs", "p", "only", "--attempt", "1"}, 0);
  CHECK(value["head"] ==
        "a\xef\xbf\xbd"
        "b\n");
  CHECK(value["tail"] == "");
  CHECK(value["bytes_left_out"] == 0);
  CHECK(value["run"] == "p/1");
}

TEST_CASE_FIXTURE(CliFixture, "history tells each event once, in order, with who decided it") {
  const std::string pipeline = file("p.json", one_node("p", R"("command":["sh","-c","exit 3"])"));
  CHECK(call({"run", pipeline, "--replica", "here"}).exit_code == 1);
  std::istringstream lines{call({"history", "p", "--json"}).out};
  std::vector<std::string> kinds;
  std::uint64_t seq = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto value = nlohmann::json::parse(line);
    kinds.push_back(value["kind"]);
    CHECK(value["seq"] >= seq);
    seq = value["seq"];
    CHECK(value["at"].get<std::string>().size() == 24);
    if (value["kind"] == "attempt_ended") {
      CHECK(value["node"] == "only");
      CHECK(value["attempt"] == 1);
      CHECK(value["term"] == 1);
      CHECK(value["replica"] == "here");
      CHECK(value["outcome"] == "failed");
      CHECK(value["exit_code"] == 3);
      CHECK(value["error"] == "exit 3");
      CHECK(value["next"] == "finish");
    }
  }
  REQUIRE(kinds.size() >= 5);
  CHECK(kinds.front() == "run_started");
  CHECK(kinds.back() == "run_ended");
  CHECK(std::count(kinds.begin(), kinds.end(), "attempt_submitted") == 1);
}

TEST_CASE_FIXTURE(CliFixture, "ids are escaped for people and whole in JSON") {
  const std::string pipeline = file("p.json", one_node("\u202eevil", R"("command":["false"])"));
  const ChildEnd end = call({"run", pipeline});
  CHECK(end.exit_code == 1);
  CHECK_FALSE(contains(end.err, "\u202e"));
  CHECK(contains(end.err, "\\u202eevil"));
  CHECK(call_json({"status", "\u202eevil"}, 0)["pipeline"] == "\u202eevil");
}

TEST_CASE_FIXTURE(CliFixture, "the default store's folders are for this user alone") {
  CHECK(call({"start", file("p.json", one_node("p", R"("task":"noop")"))}).exit_code == 0);
  for (const char* folder : {"state", "state/stagecall"}) {
    CHECK(std::filesystem::status(path(folder)).permissions() == std::filesystem::perms::owner_all);
  }
}

TEST_CASE_FIXTURE(CliFixture, "a store that is none ends with 4 and stays as it was") {
  const std::string store = file("store.db", "this is no store");
  const std::string pipeline = file("p.json", one_node("p", R"("task":"noop")"));
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"run", pipeline}, {"status"}, {"verify"}}) {
    auto with_store = arguments;
    with_store.insert(with_store.end(), {"--store", store});
    const auto error = call_json(with_store, 4)["error"];
    CHECK(contains(error["message"], store));
  }
  CHECK(testing::read_file(store) == "this is no store");
}

TEST_CASE_FIXTURE(CliFixture, "I2: the helloworld instance runs to success, sped up") {
  const auto corpus = testing::corpus_folder();
  if (!corpus) {
    return;
  }
  const auto instance = *corpus / "wfinstances" / "helloworld-forkjoin-10-chameleon.json";
  const auto value = call_json({"run", instance, "--speedup", "100000", "--slots", "100"}, 0);
  CHECK(value["pipeline"] == "helloworld-forkjoin-10-chameleon");
  CHECK(value["nodes"]["succeeded"] == value["nodes"]["total"]);
}

}  // namespace
}  // namespace stagecall::testing
