// history and logs that go along with a run which a replica has.
#include "tests/system/replica_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

std::string waits_for(const SystemFixture& fixture, const std::string& name) {
  return "while [ ! -e '" + fixture.path(name) + "' ]; do sleep 0.02; done; ";
}

TEST_CASE_FIXTURE(ReplicaFixture, "history --follow tells each line once and ends with the run") {
  const auto replica = serve("a");
  start("chain", gated_chain("chain", 2).dump());
  REQUIRE(eventually_logged("start", 1));
  const auto json = launch({"history", "chain", "--follow", "--json"});
  const auto text = launch({"history", "chain", "--follow"});
  for (const auto* each : {&json, &text}) {
    CHECK(eventually([&] { return contains((*each)->out_so_far(), "attempt_submitted"); }));
    CHECK_FALSE((*each)->has_ended());
  }
  file("go", "");
  const ChildEnd end = json->wait();
  CHECK(end.exit_code == 0);
  CHECK(end.out == call({"history", "chain", "--json"}).out);
  CHECK(contains(end.out, "run_ended"));
  CHECK(text->wait().out == call({"history", "chain"}).out);
  CHECK(call({"history", "chain", "--follow"}).out == call({"history", "chain"}).out);
  drain(replica);
}

TEST_CASE_FIXTURE(ReplicaFixture, "whoever only follows ends in order when interrupted") {
  const auto replica = serve("a");
  start("chain", gated_chain("chain", 2).dump());
  REQUIRE(eventually_logged("start", 1));
  const std::vector<std::vector<std::string>> calls{{"history", "chain", "--follow"},
                                                    {"logs", "chain", "n0", "--follow"},
                                                    {"logs", "chain", "n1", "--follow"}};
  for (const auto& arguments : calls) {
    CAPTURE(arguments[1]);
    const auto following = launch(arguments);
    // Until it has come so far as to catch the signal, INT would end it as any program.
    CHECK(eventually([&] { return catches(following->pid(), SIGINT); }));
    following->signal(SIGINT);
    CHECK(following->wait().exit_code == 0);
  }
  CHECK(call_json({"status", "chain"}, 0)["status"] == "running");
  file("go", "");
  CHECK(call({"wait", "chain"}).exit_code == 0);
  drain(replica);
}

TEST_CASE_FIXTURE(ReplicaFixture, "logs --follow waits for an attempt, and goes on with the next") {
  const std::string body = "echo \"one $STAGECALL_ATTEMPT\"; " + waits_for(*this, "go") +
                           "echo two; [ \"$STAGECALL_ATTEMPT\" = 2 ]";
  const nlohmann::json pipeline{{"pipeline", "p"},
                                {"nodes",
                                 {{{"id", "gate"}, {"external", true}},
                                  {{"id", "says"},
                                   {"after", {"gate"}},
                                   {"command", {"sh", "-c", body}},
                                   {"retry", {{"max_attempts", 2}, {"delay", "1ms"}}}}}}};
  const auto replica = serve("a");
  start("p", pipeline.dump());
  REQUIRE(eventually_has("p", "running", 1));
  CHECK(call({"logs", "p", "says"}).exit_code == 2);
  CHECK(call({"logs", "p", "gate", "--follow"}).exit_code == 2);
  const auto following = launch({"logs", "p", "says", "--follow"});
  const auto value = launch({"logs", "p", "says", "--follow", "--json", "--attempt", "1"});
  CHECK(call({"node-done", "p", "gate", "--outcome", "succeeded"}).exit_code == 0);
  CHECK(eventually([&] { return following->out_so_far() == "one 1\n"; }));
  file("go", "");
  const ChildEnd end = following->wait();
  CHECK(end.exit_code == 0);
  CHECK(end.out == "one 1\ntwo\none 2\ntwo\n");
  const ChildEnd whole = value->wait();
  CHECK(whole.exit_code == 0);
  CHECK(nlohmann::json::parse(whole.out)["head"] == "one 1\ntwo\n");
  drain(replica);
}

}  // namespace
}  // namespace stagecall::testing
