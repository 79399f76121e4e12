// Several replicas on one store: who schedules what, and what becomes of the runs of one that ends,
// dies, or stands still.
#include "tests/system/replica_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace stagecall::testing {
namespace {

std::string external_run(int number) {
  return one_node("p" + std::to_string(number), R"("external":true)");
}

TEST_CASE_FIXTURE(ReplicaFixture, "R3: twenty starts at once beside two replicas make one run") {
  const auto a = serve("a");
  const auto b = serve("b");
  const std::string pipeline = file("p.json", gated_chain("chain", 2).dump());
  CHECK(created_by_twenty_starts(pipeline) == 1);
  file("go", "");
  CHECK(call({"wait", "chain"}).exit_code == 0);
  CHECK(all_runs().size() == 1);
  CHECK(count("start") == 2);
  const int adopted =
      drain(a)["runs"]["adopted"].get<int>() + drain(b)["runs"]["adopted"].get<int>();
  CHECK(adopted == 1);
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture, "P1: a replica takes over the run of one that was killed") {
  start("chain", gated_chain("chain", 3).dump());
  auto a = serve("a");
  REQUIRE(eventually_logged("start", 1));
  const auto b = serve("b");
  kill(a);
  REQUIRE(eventually_logged("start", 2));  // the lost attempt is followed by another
  file("go", "");
  CHECK(call({"wait", "chain"}).exit_code == 0);
  CHECK(terms("chain") == std::vector<std::string>{"a", "b"});
  CHECK(count("start") == 4);
  CHECK(count("end") == 3);
  drain(b);
  CHECK(eventually_no_process());
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture, "P2: three replicas that are killed in turn end all runs") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  constexpr int kRuns = 12;
  constexpr int kNodes = 8;
  Dependencies dependencies;
  for (int run = 0; run < kRuns; ++run) {
    const std::string name = "p" + std::to_string(run);
    nlohmann::json pipeline{{"pipeline", name}, {"nodes", nlohmann::json::array()}};
    for (int node = 0; node < kNodes; ++node) {
      const std::string id = name + "n" + std::to_string(node);
      dependencies[id] = {};
      if (node >= 2) {
        dependencies[id].push_back(name + "n" + std::to_string(node - 2));
      }
      pipeline["nodes"].push_back({{"id", id},
                                   {"after", dependencies[id]},
                                   {"command", logged_command(log_path(), "sleep 0.05")},
                                   {"retry", {{"max_lost", 1'000}}}});
    }
    start(name, pipeline.dump());
  }
  std::vector<Replica> replicas(3);
  std::size_t served = 0;
  const auto replace = [&](Replica& replica) {
    replica = serve("r" + std::to_string(served++), {"--lease-ttl", "2s"});
  };
  for (Replica& replica : replicas) {
    replace(replica);
  }
  for (std::size_t kills = 0; kills < 6; ++kills) {
    const std::size_t goal =
        std::min<std::size_t>(count("end") + 1 + random() % 12, kRuns * kNodes);
    REQUIRE(eventually_logged("end", goal));
    Replica& victim = replicas[kills % replicas.size()];
    kill(victim);
    replace(victim);
  }
  CHECK(eventually_ended("succeeded", kRuns));
  for (const Replica& replica : replicas) {
    CHECK(drain(replica)["runs"]["handed_over"] == 0);
  }
  CHECK(eventually_no_process());
  CHECK(leased() == std::vector<std::string>{});
  CHECK(faults_of(log(), dependencies) == std::vector<std::string>{});
  for (int run = 0; run < kRuns; ++run) {
    CHECK(faults_of_history(history("p" + std::to_string(run)), dependencies) ==
          std::vector<std::string>{});
  }
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture,
                  "P4: who joins takes nothing away, and has all once the other drains") {
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    start("p" + std::to_string(run), external_run(run));
  }
  const auto a = serve("a");
  REQUIRE(eventually([&] { return leased().size() == kRuns; }));
  const auto b = serve("b", {"--tick", "1h"});
  const auto served = drain(a);
  CHECK(served["leases_lost"] == 0);
  CHECK(served["runs"]["adopted"] == kRuns);
  CHECK(served["runs"]["handed_over"] == kRuns);
  // Its tick is an hour away: it was told.
  for (int run = 0; run < kRuns; ++run) {
    CHECK(eventually([&] {
      return terms("p" + std::to_string(run)) == std::vector<std::string>{"a", "b"};
    }));
  }
  CHECK(drain(b)["leases_lost"] == 0);
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture,
                  "P6: a replica that stood still finds its run taken, and does nothing") {
  start("chain", gated_chain("chain", 2).dump());
  const auto a = serve("a", {"--lease-ttl", "1s"});
  REQUIRE(eventually_logged("start", 1));
  const auto b = serve("b", {"--lease-ttl", "1s"});
  // Stopped inside a transaction it would hold up everybody: then it is stopped again.
  REQUIRE(eventually(
      [&] {
        a->signal(SIGSTOP);
        const bool taken =
            eventually([&] { return terms("chain").size() == 2; }, std::chrono::seconds{10});
        if (!taken) {
          a->signal(SIGCONT);
        }
        return taken;
      },
      kLongRun));
  file("go", "");
  a->signal(SIGCONT);
  CHECK(call({"wait", "chain"}).exit_code == 0);
  CHECK(terms("chain") == std::vector<std::string>{"a", "b"});
  CHECK(count("start") == 2);  // its command ran on meanwhile, and counts
  CHECK(faults_of(log(), {{"n0", {}}, {"n1", {"n0"}}}) == std::vector<std::string>{});
  CHECK(drain(a)["launched"] == 1);
  CHECK(drain(b)["launched"] == 1);
  check_verified();
}

TEST_CASE_FIXTURE(ReplicaFixture, "H9: three replicas make no more passes than one") {
  constexpr int kRuns = 5;
  std::vector<Replica> replicas;
  for (const std::string name : {"a", "b", "c"}) {
    replicas.push_back(serve(name));
  }
  for (int run = 0; run < kRuns; ++run) {
    start("p" + std::to_string(run), external_run(run));
  }
  REQUIRE(eventually([&] { return call_json({"status", "p4"}, 0)["seconds"] >= 3; }));
  for (int run = 0; run < kRuns; ++run) {
    const std::string name = "p" + std::to_string(run);
    CHECK(call({"node-done", name, "only", "--outcome", "succeeded"}).exit_code == 0);
  }
  REQUIRE(eventually_ended("succeeded", kRuns));
  double ticks = 0;
  double passes = 0;
  for (const auto& run : all_runs()) {
    const double ticks_of_it = run["seconds"].get<double>() / 0.2;
    CHECK(run["passes"]["tick"] <= ticks_of_it + 1);
    ticks += ticks_of_it;
    passes += run["passes"]["tick"].get<double>();
  }
  MESSAGE("passes per run and tick: " << passes / ticks);
  CHECK(passes > 0);
  for (const Replica& replica : replicas) {
    drain(replica);
  }
  check_verified();
}

}  // namespace
}  // namespace stagecall::testing
