// The built `stagecall` as whole processes, with a run log beside its store; judged from outside.
#pragma once

#include "platform/random.hpp"
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/process_table.hpp"
#include "tests/system/run_log.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace stagecall::testing {

/// For runs of a thousand commands, and histories of 100,000 nodes, under sanitizers on a busy
/// machine.
inline constexpr std::chrono::seconds kLongRun{240};

class SystemFixture : public CliFixture {
 public:
  std::string log_path() const { return path("run.log"); }
  std::vector<LogLine> log() const { return read_log(log_path()); }

  std::size_t count(const std::string& word) const {
    std::size_t found = 0;
    for (const LogLine& line : log()) {
      found += line.word == word ? 1U : 0U;
    }
    return found;
  }

  std::vector<nlohmann::json> history(const std::string& run) {
    const ChildEnd end = call({"history", run, "--json"});
    std::vector<nlohmann::json> lines;
    std::istringstream text{end.out};
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  /// Every process that has this test's home: stagecall, its launcher, its commands.
  std::vector<pid_t> processes() const { return processes_with(home()); }
  bool eventually_no_process() const {
    return eventually([this] { return processes().empty(); });
  }
  bool eventually_logged(const std::string& word, std::size_t times) const {
    return eventually([&] { return count(word) >= times; });
  }

  /// A chain of commands that each wait for a file of the test: `go` lets all pass.
  nlohmann::json gated_chain(const std::string& pipeline, int length) const {
    nlohmann::json chain{{"pipeline", pipeline}, {"nodes", nlohmann::json::array()}};
    for (int node = 0; node < length; ++node) {
      chain["nodes"].push_back(
          {{"id", "n" + std::to_string(node)},
           {"after", node == 0 ? nlohmann::json::array()
                               : nlohmann::json::array({"n" + std::to_string(node - 1)})},
           {"command", logged_command(log_path(), until("go"))}});
    }
    return chain;
  }

  /// Shell words that wait for a file of the test.
  std::string until(const std::string& name) const {
    return "while [ ! -e '" + path(name) + "' ]; do sleep 0.02; done";
  }

  /// Twenty processes start the file at once: how many of them say that they made the run.
  int created_by_twenty_starts(const std::string& pipeline) {
    std::vector<std::unique_ptr<ChildProcess>> starts;
    for (int start = 0; start < 20; ++start) {
      starts.push_back(launch({"start", pipeline, "--json"}));
    }
    int created = 0;
    for (const auto& start : starts) {
      const ChildEnd end = start->wait();
      INFO(end.out << end.err);
      CHECK(end.exit_code == 0);
      const auto value = nlohmann::json::parse(end.out, nullptr, false);
      REQUIRE(value.is_object());
      CHECK(value["iteration"] == 1);
      created += value["created"] == true ? 1 : 0;
    }
    return created;
  }

  /// No rule was broken, by history alone.
  void check_verified() {
    const ChildEnd end = launch({"verify"})->wait(kLongRun);
    INFO(end.out << end.err);
    CHECK(end.exit_code == 0);
  }
};

/// A new seed each time, or the one of STAGECALL_SEED to see a failure again.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("STAGECALL_SEED");
  return given != nullptr ? std::stoull(given) : random_number();
}

}  // namespace stagecall::testing
