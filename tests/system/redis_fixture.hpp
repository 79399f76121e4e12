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

  std::string gated_file(const std::string& name, int length) {
    return file(name + ".json", gated_chain(name, length).dump());
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
