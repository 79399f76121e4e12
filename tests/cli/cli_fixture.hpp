// The built `stagecall` in a home of its own: no test sees another's settings or store.
#pragma once

#include "tests/support/child_process.hpp"
#include "tests/support/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace stagecall::testing {

class CliFixture {
 public:
  CliFixture() {
    for (const char* kept :
         {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
      if (const char* value = std::getenv(kept)) {
        environment_[kept] = value;
      }
    }
    environment_["HOME"] = folder_.path();
    environment_["XDG_STATE_HOME"] = folder_ / "state";
    environment_["XDG_CONFIG_HOME"] = folder_ / "config";
  }

  ChildEnd call(std::vector<std::string> arguments) { return launch(std::move(arguments))->wait(); }

  std::unique_ptr<ChildProcess> launch(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), testing::binary_folder() + "/stagecall");
    return launch_program(arguments);
  }
  /// Any program, in the same environment.
  std::unique_ptr<ChildProcess> launch_program(const std::vector<std::string>& argv) {
    return std::make_unique<ChildProcess>(argv, environment_);
  }

  /// The one JSON value that stdout must be.
  nlohmann::json call_json(std::vector<std::string> arguments, int exit_code) {
    arguments.insert(arguments.begin() + 1, "--json");
    const ChildEnd end = call(std::move(arguments));
    INFO(end.out << end.err);
    CHECK(end.exit_code == exit_code);
    CHECK(nlohmann::json::accept(end.out));
    return nlohmann::json::parse(end.out, nullptr, false);
  }

  /// Writes a file of the test and gives its path.
  std::string file(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path{folder_ / name}.parent_path());
    std::ofstream{folder_ / name, std::ios::binary} << content;
    return folder_ / name;
  }

  /// The folder of all it has; each process started from here has it in its environment.
  const std::string& home() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string store() const { return folder_ / "state/stagecall/stagecall.db"; }
  bool has_store() const { return std::filesystem::exists(folder_ / "state"); }
  void set(const std::string& variable, const std::string& value) {
    environment_[variable] = value;
  }

  /// Whether the run has come to have this node in this state.
  bool eventually_has(const std::string& run, const std::string& state, int count) {
    return eventually([&] {
      const ChildEnd end = call({"status", run, "--json"});
      const auto value = nlohmann::json::parse(end.out, nullptr, false);
      return end.exit_code == 0 && value["nodes"][state] == count;
    });
  }

 private:
  TempFolder folder_;
  Environment environment_;
};

/// One pipeline of one node, whose members follow its id.
inline std::string one_node(const std::string& pipeline, const std::string& members) {
  return R"({"pipeline":")" + pipeline + R"(","nodes":[{"id":"only",)" + members + "}]}";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace stagecall::testing
