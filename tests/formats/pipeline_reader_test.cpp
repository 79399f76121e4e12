#include "tests/formats/refusals.hpp"
#include "tests/support/small_stack.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace stagecall;
using namespace std::chrono_literals;
using testing::holds;
using testing::places;
using testing::refusal;
using testing::with_node;
using Texts = std::vector<std::string>;

namespace {

PipelineSpec read(std::string_view text) {
  auto definition = read_pipeline(text, testing::kOptions);
  INFO((definition ? std::string{} : definition.error().message));
  REQUIRE(definition.has_value());
  return (*definition)->spec();
}

/// The one problem of a node with these members.
Problem problem_of(const std::string& members) {
  const Error error = refusal(with_node(members));
  CHECK(error.problems.size() == 1);
  return error.problems.front();
}

}  // namespace

TEST_CASE("every member of the pipeline file is read") {
  const PipelineSpec spec = read(R"({
    "pipeline": "nightly", "on_failure": "stop", "concurrent_runs": 3, "timeout": "6h",
    "params": { "day": "2026-11-30", "n": [1, null] },
    "nodes": [
      { "id": "fetch", "command": ["curl", "-sSf", ""], "executor": "slurm", "timeout": "30s",
        "env": { "LANG": "C" }, "cwd": "/srv", "grace": "0s", "lost_after": "1m", "slots": 4,
        "retry": { "max_attempts": 3, "max_lost": 0, "delay": "2s", "factor": 1.5,
                   "max_delay": "5m", "jitter": 0.2 } },
      { "id": "check", "after": ["fetch"], "task": "checksum", "params": { "x": 1.50 },
        "priority": -100 },
      { "id": "approve", "after": ["check"], "external": true },
      { "id": "done", "after": ["approve"], "trigger": "all_finished" }
    ]})");
  const PipelineSpec expected{
      .name = "nightly",
      .on_failure = OnFailure::stop,
      .concurrent_runs = 3,
      .timeout = 6h,
      .params = R"({"day":"2026-11-30","n":[1,null]})",
      .nodes = {{.id = "fetch",
                 .action = CommandAction{{"curl", "-sSf", ""}, CommandExecutor::slurm},
                 .env = {{"LANG", "C"}},
                 .cwd = "/srv",
                 .timeout = 30s,
                 .retry = {.attempts_max = 3,
                           .lost_max = 0,
                           .delay = 2s,
                           .factor = 1.5,
                           .delay_max = 5min,
                           .jitter = 0.2},
                 .grace = 0s,
                 .lost_after = 1min,
                 .slots = 4},
                {.id = "check",
                 .after = {"fetch"},
                 .action = TaskAction{"checksum"},
                 .params = R"({"x":1.50})",
                 .priority = -100},
                {.id = "approve", .after = {"check"}, .action = ExternalAction{}},
                {.id = "done", .after = {"approve"}, .trigger = Trigger::all_finished}}};
  CHECK(spec == expected);
}

TEST_CASE("what is left out has its default") {
  CHECK(read(R"({"pipeline":"p","nodes":[{"id":"a"}]})") ==
        PipelineSpec{.name = "p", .nodes = {{.id = "a"}}});
  CHECK(read(with_node(R"("retry":{})")).nodes[0].retry == RetryPolicy{});
}

TEST_CASE("members out of their range or of another type are refused by pointer, with the range") {
  struct Row {
    std::string members, where, allowed;
  };
  const std::vector<Row> rows{
      {R"("priority":101)", "/nodes/0/priority", "from -100 to 100"},
      {R"("priority":-101)", "/nodes/0/priority", "from -100 to 100"},
      {R"("priority":1.5)", "/nodes/0/priority", "whole number"},
      {R"("priority":99999999999999999999)", "/nodes/0/priority", "whole number"},
      {R"("priority":"1")", "/nodes/0/priority", "whole number"},
      {R"("slots":0)", "/nodes/0/slots", "from 1 to 1000"},
      {R"("slots":1001)", "/nodes/0/slots", "from 1 to 1000"},
      {R"("retry":{"max_attempts":0})", "/nodes/0/retry/max_attempts", "from 1 to 1000"},
      {R"("retry":{"max_lost":1001})", "/nodes/0/retry/max_lost", "from 0 to 1000"},
      {R"("retry":{"factor":0.99})", "/nodes/0/retry/factor", "from 1 to 100"},
      {R"("retry":{"factor":1e400})", "/nodes/0/retry/factor", "range of a double"},
      {R"("retry":{"jitter":1.01})", "/nodes/0/retry/jitter", "from 0 to 1"},
      {R"("retry":{"delay":"0s"})", "/nodes/0/retry/delay", "more than 0"},
      {R"("retry":{"max_delay":"0ms"})", "/nodes/0/retry/max_delay", "more than 0"},
      {R"("retry":{"tries":1})", "/nodes/0/retry/tries", "max_attempts, max_lost, delay"},
      {R"("retry":[])", "/nodes/0/retry", "an object, not an array"},
      {R"("timeout":"0s")", "/nodes/0/timeout", "more than 0"},
      {R"("timeout":5)", "/nodes/0/timeout", "a string, not a number"},
      {R"("timeout":"5 parsecs")", "/nodes/0/timeout", "ms, s, m or h"},
      {R"("lost_after":"0h")", "/nodes/0/lost_after", "more than 0"},
      {R"("grace":"87601h")", "/nodes/0/grace", "ten years"},
      {R"("trigger":"always")", "/nodes/0/trigger", "all_succeeded, all_finished, any_failed"},
      {R"("after":"b")", "/nodes/0/after", "an array, not a string"},
      {R"("after":[1])", "/nodes/0/after/0", "a string, not a number"},
      {R"("after":[""])", "/nodes/0/after/0", "empty"},
      {R"("after":null)", "/nodes/0/after", "left out"},
      {R"("task":"")", "/nodes/0/task", "empty"},
      {R"("task":{})", "/nodes/0/task", "a string"},
      {R"("command":[])", "/nodes/0/command", "the program"},
      {R"("command":[""])", "/nodes/0/command/0", "empty"},
      {R"("command":"true")", "/nodes/0/command", "an array"},
      {R"("command":["a","b\u0000c"])", "/nodes/0/command/1", "NUL"},
      {R"("command":["a",2])", "/nodes/0/command/1", "a string"},
      {R"("command":["a"],"executor":"k8s")", "/nodes/0/executor", "process, slurm"},
      {R"("task":"t","executor":"process")", "/nodes/0/executor", "only a node with a command"},
      {R"("external":false)", "/nodes/0/external", "true, or left out"},
      {R"("external":1)", "/nodes/0/external", "a boolean"},
      {R"("external":true,"task":"t")", "/nodes/0/task", "external, task"},
      {R"("command":["a"],"task":"t")", "/nodes/0/task", "command, task"},
      {R"("env":{"A=B":"x"})", "/nodes/0/env/A=B", "without ="},
      {R"("env":{"":"x"})", "/nodes/0/env/", "not empty"},
      {R"("env":{"A":1})", "/nodes/0/env/A", "a string"},
      {R"("env":{"A":"x\u0000"})", "/nodes/0/env/A", "NUL"},
      {R"("env":{"a/b~c":null})", "/nodes/0/env/a~1b~0c", "a string"},
      {R"("cwd":"")", "/nodes/0/cwd", "empty"},
      {R"("params":[])", "/nodes/0/params", "an object"},
      {R"("params":{"a":{"b":1,"b":1}})", "/nodes/0/params/a/b", "repeated"},
      {R"("aftr":["b"])", "/nodes/0/aftr", "\"aftr\"; allowed: id, after, task"},
      {R"("after":["ghost"])", "/nodes/0/after/0", "\"ghost\""},
      {R"("after":["a"])", "/nodes/0/after/0", "itself"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.members);
    const Problem problem = problem_of(row.members);
    CHECK(problem.where == row.where);
    CHECK_MESSAGE(holds(problem.message, row.allowed), problem.message);
  }
}

TEST_CASE("the pipeline's own members are judged as the nodes' are") {
  const Error error =
      refusal(R"({"pipeline":"","on_failure":"go","concurrent_runs":1001,"timeout":"0s",)"
              R"("params":1,"x":1})");
  CHECK(places(error) ==
        Texts{"", "/pipeline", "/on_failure", "/concurrent_runs", "/timeout", "/params", "/x"});
  CHECK(holds(error.problems[0].message, "\"nodes\" is missing"));
  CHECK(holds(error.message, "for 7 problems"));
  CHECK(holds(refusal(R"({"nodes":[{"id":"a"}]})").message, "\"pipeline\" is missing"));
  CHECK(holds(refusal("[]").message, "an object, not an array"));
  CHECK(holds(refusal("12").message, "an object, not a number"));
  CHECK(holds(refusal(R"({"pipeline":"p","nodes":[]})").message, "1 to 1000000 nodes"));
}

TEST_CASE("ids are 1 to 255 bytes without control characters") {
  const auto with_id = [](const std::string& id) {
    return R"({"pipeline":"p","nodes":[{"id":")" + id + "\"}]}";
  };
  CHECK(read(with_id(std::string(255, 'n'))).nodes[0].id.size() == 255);
  for (const std::string& id :
       {std::string{}, std::string(256, 'n'), std::string{"a\\u0000b"}, std::string{"a\\n"},
        std::string{"\\u007f"}, std::string{"\\u0085"}}) {
    CAPTURE(id);
    const Error error = refusal(with_id(id));
    CHECK(places(error) == Texts{"/nodes/0/id"});
    CHECK(holds(error.message, "1 to 255 bytes"));
  }
  CHECK(read(with_id("\\u00a0 é")).nodes[0].id == "\u00a0 é");
}

TEST_CASE("faults of members and of the graph come together, in document order, 20 at most") {
  const Error error = refusal(R"({"pipeline":"p","nodes":[
    {"id":"a","after":["b","ghost"],"slots":0},
    {"after":["a"],"id":"b"},
    {"id":"a"}, 7, {"id":7}, {}, {"after":["a",3,"ghost"],"id":"c"}],"extra":1})");
  CHECK(places(error) == Texts{"/nodes/0", "/nodes/0/after/1", "/nodes/0/slots", "/nodes/2/id",
                               "/nodes/3", "/nodes/4/id", "/nodes/5", "/nodes/6/after/1",
                               "/nodes/6/after/2", "/extra"});
  CHECK(error.cycle == Texts{"a", "b"});

  std::string many = R"({"pipeline":"p","nodes":[{"id":"a","after":["ghost"]})";
  for (int i = 0; i < 100; ++i) {
    many += R"(,{"id":""})";
  }
  const Error crowd = refusal(many + "]}");
  CHECK(crowd.problems.size() == 20);
  CHECK(crowd.problems.front().where == "/nodes/0/after/0");
  CHECK(crowd.problems.back().where == "/nodes/19/id");
}

TEST_CASE("more than a million nodes are refused, without looking at each") {
  std::string text = R"({"pipeline":"p","nodes":[0)";
  for (int i = 0; i < 1'000'000; ++i) {
    text += ",0";
  }
  const Error error = refusal(text + "]}");
  CHECK(places(error) == Texts{"/nodes"});
  CHECK(holds(error.message, "1000000"));
}

TEST_CASE("a speedup that is no positive number is refused") {
  for (const double speedup : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
    const auto read_with = read_pipeline("{}", {.stem = "s", .speedup = speedup});
    REQUIRE_FALSE(read_with.has_value());
    CHECK(read_with.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a chain of 100,000 nodes is read on a small stack") {
  std::string text = R"({"pipeline":"p","nodes":[{"id":"n0"})";
  for (int i = 1; i < 100'000; ++i) {
    text +=
        R"(,{"id":"n)" + std::to_string(i) + R"(","after":["n)" + std::to_string(i - 1) + R"("]})";
  }
  text += "]}";
  std::size_t depth = 0;
  testing::on_small_stack([&] { depth = read_pipeline(text, {}).value()->graph().depth(); });
  CHECK(depth == 100'000);
}
