// `trace start FILE` and `trace stop`: the trace of a process that is already at work.
#include "tests/system/replica_fixture.hpp"
#include "tests/system/trace_check.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

class SwitchFixture : public ReplicaFixture {
 public:
  /// Runs the pipeline to its end on whoever serves.
  void run_through(const std::string& name) {
    start(name, one_node(name, R"("task":"noop")"));
    CHECK(call({"wait", name}).exit_code == 0);
  }

  /// `run/attempt` of each attempt in the file; it ended without an end of its process.
  std::multiset<std::string> attempts_in(const std::string& name) {
    const TraceCheck trace{path(name)};
    REQUIRE(trace.is_whole());
    CHECK(trace.faults(true) == std::vector<std::string>{});
    CHECK(read_file(path(name)).ends_with("]}\n"));
    std::multiset<std::string> attempts;
    for (const auto& event : trace.all("attempt", "X")) {
      attempts.insert(event["args"]["run"]);
    }
    return attempts;
  }

  std::string refusal(const std::vector<std::string>& arguments, const std::string& code,
                      int exit_code = 2) {
    const auto error = call_json(arguments, exit_code)["error"];
    CHECK(error["code"] == code);
    return error["message"];
  }
};

}  // namespace

TEST_CASE_FIXTURE(SwitchFixture, "the trace of a live replica is started and stopped, and again") {
  const Replica replica = serve("a");
  run_through("before");
  // A relative FILE is the caller's, wherever the replica stands.
  const ChildEnd begun = launch_program({"/bin/sh", "-c",
                                         "cd '" + home() + "' && exec '" + binary_folder() +
                                             "/stagecall' trace start t.json --json"})
                             ->wait();
  CHECK(begun.exit_code == 0);
  const auto answer = nlohmann::json::parse(begun.out);
  CHECK(answer["replica"] == "a");
  CHECK(answer["pid"] == replica->pid());
  CHECK(answer["trace"] == path("t.json"));
  CHECK(call_json({"inspect"}, 0)["replicas"][0]["trace"] == path("t.json"));
  CHECK(contains(call({"inspect"}).out, "traced to " + path("t.json")));
  run_through("traced");

  CHECK(contains(refusal({"trace", "start", path("u.json")}, "invalid_argument"),
                 "already writes a trace to " + path("t.json")));
  CHECK_FALSE(std::filesystem::exists(path("u.json")));
  const auto stopped = call_json({"trace", "stop"}, 0)["stopped"];
  REQUIRE(stopped.size() == 1);
  CHECK(stopped[0] == answer);
  run_through("after");
  CHECK(attempts_in("t.json") == std::multiset<std::string>{"traced/1"});

  CHECK(call_json({"trace", "stop"}, 0)["stopped"].empty());
  CHECK(call_json({"inspect"}, 0)["replicas"][0]["trace"].is_null());
  CHECK(call({"trace", "start", path("t.json")}).exit_code == 0);
  run_through("again");
  CHECK(contains(call({"trace", "stop"}).out, "has ended its trace in " + path("t.json")));
  CHECK(attempts_in("t.json") == std::multiset<std::string>{"again/1"});
  drain(replica);
}

TEST_CASE_FIXTURE(SwitchFixture, "a trace may be of some runs and some kinds of actors alone") {
  const Replica replica = serve("a");
  start("p", one_node("p", R"("external":true)"));
  start("q", one_node("q", R"("external":true)"));
  REQUIRE(eventually_has("p", "running", 1));
  REQUIRE(eventually_has("q", "running", 1));
  CHECK(call({"trace", "start", path("t.json"), "--run", "p", "--kind", "store", "--kind",
              "pipeline"})
            .exit_code == 0);
  for (const std::string run : {"p", "q"}) {
    CHECK(call({"node-done", run, "only", "--outcome", "succeeded"}).exit_code == 0);
    CHECK(call({"wait", run}).exit_code == 0);
  }
  CHECK(call({"trace", "stop"}).exit_code == 0);
  CHECK(attempts_in("t.json") == std::multiset<std::string>{"p/1"});
  const TraceCheck trace{path("t.json")};
  std::set<std::string> tracks;
  for (const auto& event : trace.all("message", "X")) {
    tracks.insert(trace.track_name(event));
  }
  CHECK(tracks == std::set<std::string>{"pipeline p/1", "store"});
  drain(replica);
}

TEST_CASE_FIXTURE(SwitchFixture,
                  "a trace that was given at the start can be ended, the file is whole") {
  const Replica replica = serve("a", {"--trace", path("t.json")});
  run_through("p");
  CHECK(call_json({"trace", "stop"}, 0)["stopped"][0]["trace"] == path("t.json"));
  CHECK(attempts_in("t.json") == std::multiset<std::string>{"p/1"});
  drain(replica);
}

TEST_CASE_FIXTURE(SwitchFixture, "a trace that cannot be switched says what is in the way") {
  const std::string file_name = path("t.json");
  CHECK(contains(refusal({"trace", "start", file_name}, "not_found"), "stagecall.db"));
  const Replica one = serve("one");
  CHECK(contains(refusal({"trace", "begin"}, "invalid_argument"), "start FILE, or stop"));
  CHECK(contains(refusal({"trace", "start"}, "invalid_argument"), "FILE is missing"));
  CHECK(contains(refusal({"trace", "stop", file_name}, "invalid_argument"), "takes no FILE"));
  const std::string place = path("none/t.json");
  const std::string cannot = refusal({"trace", "start", place}, "invalid_argument");
  CHECK(contains(cannot, place));
  CHECK(contains(cannot, "No such file or directory"));
  CHECK(contains(refusal({"trace", "start", file_name, "--kind", "actor"}, "invalid_argument"),
                 "lock_manager"));
  CHECK(contains(refusal({"trace", "start", file_name, "--run", "none"}, "not_found"), "none"));
  CHECK(contains(refusal({"trace", "start", file_name, "--replica", "two"}, "not_found"), "one"));
  {
    const Replica two = serve("two");
    const std::string which = refusal({"trace", "start", file_name}, "invalid_argument");
    CHECK(contains(which, "one"));
    CHECK(contains(which, "two"));
    CHECK(contains(which, "--replica"));
    CHECK(call_json({"trace", "start", file_name, "--replica", "two"}, 0)["replica"] == "two");
    CHECK(contains(refusal({"trace", "start", file_name, "--replica", "one"}, "invalid_argument"),
                   "another process writes it"));
    kill(two);
  }
  drain(one);
  CHECK(contains(refusal({"trace", "stop"}, "not_found"), "no process works on"));
}

}  // namespace stagecall::testing
