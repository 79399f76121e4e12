// `--trace FILE`: what a viewer finds in the file, while it grows, at the end, and after a kill.
#include "tests/system/system_fixture.hpp"
#include "tests/system/trace_check.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

namespace stagecall::testing {
namespace {

using Faults = std::vector<std::string>;

/// `node/attempt outcome` of each attempt.
std::multiset<std::string> attempts_of(const TraceCheck& trace) {
  std::multiset<std::string> attempts;
  for (const auto& event : trace.all("attempt", "X")) {
    CHECK(event["name"] == event["args"]["node"]);
    attempts.insert(event["name"].get<std::string>() + "/" + event["args"]["attempt"].dump() + " " +
                    event["args"]["outcome"].get<std::string>());
  }
  return attempts;
}

/// How many arrows of this name lead from or to the track.
std::size_t arrows_at(const TraceCheck& trace, const std::string& name, const std::string& phase,
                      const std::string& track) {
  const auto arrows = trace.all("attempt", phase);
  return static_cast<std::size_t>(std::count_if(arrows.begin(), arrows.end(), [&](const auto& one) {
    return one["name"] == name && trace.track_name(one).starts_with(track);
  }));
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "a trace of the nightly example shows what happened, and why") {
  const ChildEnd end = call({"run", testing::source_folder() + "/examples/nightly.json", "--trace",
                             path("t.json"), "--replica", "night"});
  CHECK(end.exit_code == 0);
  const TraceCheck trace{path("t.json")};
  REQUIRE(trace.is_whole());
  CHECK(trace.faults() == Faults{});
  CHECK(attempts_of(trace) == std::multiset<std::string>{"check/1 failed", "check/2 succeeded",
                                                         "collect/1 succeeded",
                                                         "report/1 succeeded", "sum/1 succeeded"});
  for (const auto& event : trace.all("attempt", "X")) {
    CHECK(event["args"]["run"] == "nightly/1");
    CHECK(trace.track_name(event).starts_with("run nightly/1"));
  }
  CHECK(arrows_at(trace, "launch", "s", "pipeline nightly/1") == 5);
  CHECK(arrows_at(trace, "launch", "f", "run nightly/1") == 5);
  CHECK(arrows_at(trace, "done", "s", "run nightly/1") == 5);
  CHECK(arrows_at(trace, "done", "f", "pipeline nightly/1") == 5);

  std::set<std::string> tracks;
  for (const auto& event : trace.all("message", "X")) {
    tracks.insert(trace.track_name(event));
  }
  CHECK(tracks == std::set<std::string>{"custodian", "lock_manager", "pipeline nightly/1",
                                        "slot_broker", "store", "supervisor"});
  CHECK(trace.all("__metadata", "M").front()["args"]["name"] == "stagecall night");
  CHECK(trace.all("term", "b").size() == 1);
  CHECK(trace.all("term", "e").size() == 1);
  CHECK(trace.all("store", "X").size() >= 5);
  for (const auto& commit : trace.all("store", "X")) {
    CHECK(commit["args"]["writes"] >= 1);
    CHECK(commit["args"]["committed"] == true);
  }
  CHECK_FALSE(trace.all("tick", "i").empty());
  std::set<std::string> counters;
  for (const auto& event : trace.all("counter", "C")) {
    counters.insert(event["name"]);
  }
  CHECK(counters.contains("live runs"));
  CHECK(counters.contains("slots busy"));
  CHECK(counters.contains("mailbox store"));
  CHECK(trace.all("trace", "i").empty());
}

TEST_CASE_FIXTURE(SystemFixture, "a trace of a recorded workflow has each attempt and no loss") {
  const auto corpus = testing::corpus_folder();
  if (!corpus) {
    return;
  }
  const ChildEnd end =
      launch({"run", *corpus / "wfinstances/montage-chameleon-2mass-01d-001.json", "--speedup",
              "1000", "--slots", "16", "--json", "--trace", path("t.json")})
          ->wait(kLongRun);
  CHECK(end.exit_code == 0);
  const auto run = nlohmann::json::parse(end.out);
  const TraceCheck trace{path("t.json")};
  REQUIRE(trace.is_whole());
  CHECK(trace.faults() == Faults{});
  const auto attempts = attempts_of(trace);
  CHECK(attempts.size() == run["nodes"]["total"]);
  CHECK(std::set<std::string>{attempts.begin(), attempts.end()}.size() == attempts.size());
  CHECK(arrows_at(trace, "launch", "s", "pipeline ") == attempts.size());
  CHECK(arrows_at(trace, "done", "f", "pipeline ") == attempts.size());
  CHECK(trace.all("trace", "i").empty());
  MESSAGE(attempts.size() << " attempts, " << trace.size() << " events");
}

TEST_CASE_FIXTURE(SystemFixture, "a trace is whole while it grows and after a kill") {
  const std::string pipeline =
      file("p.json", R"({"pipeline":"p","nodes":[{"id":"a","task":"noop"},)"
                     R"({"id":"b","after":["a"],"external":true}]})");
  const auto replica = launch({"run", pipeline, "--tick", "50ms", "--trace", path("t.json")});
  std::size_t size = 0;
  int grown = 0;
  REQUIRE(eventually([&] {
    if (!std::filesystem::exists(path("t.json")) ||
        std::filesystem::file_size(path("t.json")) == 0) {
      return false;
    }
    const TraceCheck trace{path("t.json")};
    CHECK(trace.is_whole());
    grown += trace.size() > size ? 1 : 0;
    size = trace.size();
    return grown == 10;
  }));
  replica->signal(SIGKILL);
  replica->wait();
  const TraceCheck trace{path("t.json")};
  REQUIRE(trace.is_whole());
  CHECK(trace.faults(true) == Faults{});
  CHECK(attempts_of(trace) == std::multiset<std::string>{"a/1 succeeded"});
  CHECK(trace.all("term", "b").size() == 1);
  CHECK(trace.all("term", "e").empty());
}

TEST_CASE_FIXTURE(SystemFixture, "a trace that cannot be written is refused before all else") {
  const std::string pipeline =
      file("p.json", R"({"pipeline":"p","nodes":[{"id":"a","task":"noop"}]})");
  REQUIRE(::mkfifo(path("fifo").c_str(), 0600) == 0);
  for (const std::string& place :
       {path("none/t.json"), home(), path("fifo"), std::string{"/dev/full"}}) {
    CAPTURE(place);
    const auto error = call_json({"run", pipeline, "--trace", place}, 2)["error"];
    CHECK(error["code"] == "invalid_argument");
    CHECK(contains(error["message"], place));
  }
  CHECK_FALSE(has_store());
  const auto first = launch(
      {"run", file("q.json", one_node("q", R"("external":true)")), "--trace", path("t.json")});
  REQUIRE(eventually_has("q", "running", 1));
  CHECK(contains(call({"run", pipeline, "--trace", path("t.json")}).err, "another process"));
  CHECK(call({"node-done", "q", "only", "--outcome", "succeeded"}).exit_code == 0);
  CHECK(first->wait().exit_code == 0);
}

}  // namespace stagecall::testing
