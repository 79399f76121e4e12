#include "tests/system/system_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace stagecall::testing {
namespace {

constexpr int kNodes = 1'000;
constexpr int kKills = 10;

struct Generated {
  nlohmann::json pipeline;
  Dependencies dependencies;
};

/// Each node waits for up to three of the forty before it.
Generated thousand_commands(std::mt19937_64& random, const std::string& log) {
  const auto below = [&random](int end) { return static_cast<int>(random() % end); };
  Generated made{{{"pipeline", "kill"}, {"nodes", nlohmann::json::array()}}, {}};
  for (int node = 0; node < kNodes; ++node) {
    std::set<std::string> after;
    for (int edges = node == 0 ? 0 : below(4); edges > 0; --edges) {
      after.insert("n" + std::to_string(node - 1 - below(std::min(node, 40))));
    }
    const std::string id = "n" + std::to_string(node);
    const std::string body = below(4) == 0 ? "sleep 0.0" + std::to_string(below(5)) : ":";
    made.dependencies[id] = {after.begin(), after.end()};
    made.pipeline["nodes"].push_back({{"id", id},
                                      {"after", after},
                                      {"command", logged_command(log, body)},
                                      {"retry", {{"max_lost", 1'000}}}});
  }
  return made;
}

/// Nodes started again although a command of theirs wrote its end: only one that was killed between
/// that line and its exit may be, and history names the signal.
std::vector<std::string> repeated_in_vain(const std::vector<LogLine>& log,
                                          const std::vector<nlohmann::json>& history) {
  std::set<std::string> was_killed;
  for (const auto& line : history) {
    if (line.at("kind") == "attempt_ended" && line.contains("signal")) {
      was_killed.insert(line.at("node").get<std::string>() + "/" + line.at("attempt").dump());
    }
  }
  std::map<std::string, std::string> end_of;
  std::vector<std::string> repeated;
  for (const LogLine& line : log) {
    const auto end = end_of.find(line.node());
    if (line.word == "start" && end != end_of.end() &&
        !was_killed.contains(line.node() + "/" + end->second)) {
      repeated.push_back(line.key);
    }
    if (line.word == "end") {
      end_of[line.node()] = line.attempt();
    }
  }
  return repeated;
}

TEST_CASE_FIXTURE(SystemFixture,
                  "P1: ten kills of a run of 1,000 commands cost no order and no second start") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const Generated made = thousand_commands(random, log_path());
  const std::vector<std::string> run{"run", file("p.json", made.pipeline.dump()), "--slots", "8"};

  for (int kills = 0; kills < kKills; ++kills) {
    const auto replica = launch(run);
    // So many lines later; or, for none, while it takes the run over.
    const std::size_t lines = kills > 0 && random() % 4 == 0 ? 0 : 1 + random() % 150;
    const std::size_t goal = log().size() + lines;
    REQUIRE(eventually(
        [&] {
          return lines == 0 ? contains(replica->err_so_far(), "joins") : log().size() >= goal;
        },
        kLongRun));
    CHECK_FALSE(replica->has_ended());
    replica->signal(SIGKILL);
    replica->wait();
  }
  const ChildEnd end = launch(run)->wait(kLongRun);
  INFO(end.err);
  CHECK(end.exit_code == 0);
  CHECK(eventually_no_process());

  const auto lines = log();
  const auto events = history("kill");
  CHECK(faults_of(lines, made.dependencies) == std::vector<std::string>{});
  CHECK(faults_of_history(events, made.dependencies) == std::vector<std::string>{});
  CHECK(repeated_in_vain(lines, events) == std::vector<std::string>{});
  std::set<std::string> ended;
  for (const LogLine& line : lines) {
    if (line.word == "end") {
      ended.insert(line.node());
    }
  }
  CHECK(ended.size() == kNodes);
  const auto status = call_json({"status", "kill/1"}, 0);
  CHECK(status["status"] == "succeeded");
  CHECK(status["nodes"]["succeeded"] == kNodes);
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
  check_verified();
  const auto lost = std::count_if(events.begin(), events.end(), [](const auto& line) {
    return line.at("kind") == "attempt_ended" && line.at("outcome") == "lost";
  });
  MESSAGE("seed " << seed << ": " << count("start") << " starts, " << lost << " attempts lost");
}

}  // namespace
}  // namespace stagecall::testing
