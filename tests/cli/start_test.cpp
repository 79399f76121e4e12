// start --from-failed: the next run of what failed.
#include "persistence/sqlite_store.hpp"
#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

class RerunFixture : public CliFixture {
 public:
  /// `second` fails until the file "go" is there; each node writes a line of the log.
  std::string flaky() {
    return file("p.json", R"({"pipeline":"p","nodes":[)" +
                              node("first", R"("after":[],)", "printf 5 > $STAGECALL_OUTPUT") +
                              "," + node("second", R"("after":["first"],)", "test -e go") + "," +
                              node("third", R"("after":["second"],)", "true") + "]}");
  }
  std::string node(const std::string& id, const std::string& after, const std::string& command) {
    return R"({"id":")" + id + R"(",)" + after + R"("cwd":")" + home() +
           R"(","command":["sh","-c","echo )" + id + " >> log; " + command + R"("]})";
  }
  std::string log() {
    std::ifstream in{path("log")};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
};

TEST_CASE_FIXTURE(RerunFixture, "R18: start --from-failed runs what failed and what is behind it") {
  const std::string pipeline = flaky();
  CHECK(call({"run", pipeline}).exit_code == 1);
  const auto value = call_json({"start", "--from-failed", "p/1"}, 0);
  CHECK(value["created"] == true);
  CHECK(value["iteration"] == 2);
  CHECK(value["nodes"]["succeeded"] == 1);
  CHECK(value["nodes"]["ready"] == 1);
  // It lives: found, not made again.
  const auto again = call_json({"start", "--from-failed", "p/1"}, 0);
  CHECK(again["created"] == false);
  CHECK(again["iteration"] == 2);
  CHECK(contains(call({"history", "p/2"}).out, "node_carried  first #1"));
  CHECK(contains(call({"logs", "p/2", "first"}).err, "an earlier one, which has its logs"));

  file("go", "");
  CHECK(call_json({"run", pipeline}, 0)["iteration"] == 2);
  CHECK(log() == "first\nsecond\nsecond\nthird\n");
  CHECK(contains(call({"history", "p/2"}).out, "attempt_submitted  second #2"));
  const auto opened = open_sqlite_store({.path = store(), .create = false});
  REQUIRE(opened.has_value());
  CHECK((*opened)->outputs({"p", 2}, {NodeIndex{0}}).value() ==
        std::vector<NodeOutput>{{NodeIndex{0}, Attempt{1}, "5"}});
  CHECK(call({"verify"}).exit_code == 0);
}

TEST_CASE_FIXTURE(RerunFixture, "start --from-failed refuses what cannot be run again") {
  const std::string pipeline = flaky();
  CHECK(call_json({"start", pipeline}, 0)["created"] == true);
  const auto refusal = [this](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"start"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_json(arguments, 2)["error"];
  };
  const auto live = refusal({"--from-failed", "p"});
  CHECK(live["code"] == "invalid_argument");
  CHECK(contains(live["message"], "start --from-failed p/1: it is queued"));
  file("go", "");
  CHECK(call({"run", pipeline}).exit_code == 0);
  CHECK(contains(refusal({"--from-failed", "p"})["message"], "nothing to run again"));
  CHECK(refusal({"--from-failed", "q"})["code"] == "not_found");
  CHECK(refusal({"--from-failed", ""})["code"] == "not_found");
  CHECK(contains(refusal({pipeline, "--from-failed", "p"})["message"], "not both"));
  CHECK(contains(refusal({})["message"], "FILE is missing"));
}

TEST_CASE_FIXTURE(RerunFixture, "a request id makes a rerun repeatable") {
  const std::string pipeline = flaky();
  CHECK(call({"run", pipeline}).exit_code == 1);
  const std::vector<std::string> rerun{"start", "--from-failed", "p/1", "--request-id", "once"};
  CHECK(call_json(rerun, 0)["iteration"] == 2);
  file("go", "");
  CHECK(call({"run", pipeline}).exit_code == 0);
  const auto value = call_json(rerun, 0);
  CHECK(value["iteration"] == 2);
  CHECK(value["created"] == false);
}

}  // namespace
}  // namespace stagecall::testing
