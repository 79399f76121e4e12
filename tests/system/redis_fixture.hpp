// Processes that share a store and keep its leases in a real redis-server. Short leases and ticks:
// what an outage leads to comes soon.
#pragma once

#include "tests/support/redis_server.hpp"
#include "tests/system/system_fixture.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace stagecall::testing {

class RedisFixture : public SystemFixture {
 public:
  RedisProcess redis;

  std::string url(int db = 0) const {
    return "redis://127.0.0.1:" + std::to_string(redis.port()) + "/" + std::to_string(db);
  }
  std::string server(int db = 0) const { return url(db).substr(std::string{"redis://"}.size()); }

  /// `run` of a file on these leases.
  std::vector<std::string> run_of(const std::string& pipeline) const {
    return {"run", pipeline, "--leases", url(), "--lease-ttl", "1s", "--tick", "100ms"};
  }
  std::vector<std::string> run_of(const std::string& pipeline,
                                  const std::vector<std::string>& more) const {
    auto arguments = run_of(pipeline);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// A chain of commands that wait for the file `go` of the test.
  std::string gated_chain(const std::string& name, int length) {
    nlohmann::json pipeline{{"pipeline", name}, {"nodes", nlohmann::json::array()}};
    for (int node = 0; node < length; ++node) {
      nlohmann::json after = nlohmann::json::array();
      if (node > 0) {
        after.push_back("n" + std::to_string(node - 1));
      }
      pipeline["nodes"].push_back({{"id", "n" + std::to_string(node)},
                                   {"after", std::move(after)},
                                   {"command", logged_command(log_path(), until("go"))}});
    }
    return file(name + ".json", pipeline.dump());
  }
  /// Shell words that wait for a file of the test.
  std::string until(const std::string& name) const {
    return "while [ ! -e '" + path(name) + "' ]; do sleep 0.02; done";
  }

  std::vector<std::string> keys() const {
    std::istringstream lines{redis.ask({"KEYS", "*"})};
    std::vector<std::string> keys;
    for (std::string line; std::getline(lines, line);) {
      keys.push_back(line);
    }
    return keys;
  }

  /// The member of the run object, or nothing.
  nlohmann::json status_member(const std::string& run, const std::string& member) {
    const auto status = nlohmann::json::parse(call({"status", run, "--json"}).out, nullptr, false);
    return status.is_object() && status.contains(member) ? status[member] : nlohmann::json{};
  }
};

}  // namespace stagecall::testing
