// Replicas: `stagecall serve` as real processes on one store.
#pragma once

#include "persistence/sqlite_lease_store.hpp"
#include "platform/process.hpp"
#include "platform/system_clock.hpp"
#include "tests/system/system_fixture.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace stagecall::testing {

class ReplicaFixture : public SystemFixture {
 public:
  using Replica = std::unique_ptr<ChildProcess>;

  /// Returns once it serves. Short ticks, unless `options` say otherwise.
  Replica serve(const std::string& name, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"serve", "--json", "--replica", name};
    const auto has = [&options](const char* option) {
      return std::find(options.begin(), options.end(), option) != options.end();
    };
    if (!has("--tick")) {
      arguments.insert(arguments.end(), {"--tick", "200ms"});
    }
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto replica = launch(arguments);
    CHECK(eventually([&] { return contains(replica->err_so_far(), "serves "); }));
    return replica;
  }

  /// Drains it; what it says that it did.
  nlohmann::json drain(const Replica& replica, int signal = SIGTERM) {
    replica->signal(signal);
    const ChildEnd end = replica->wait();
    INFO(end.err);
    CHECK(end.exit_code == 0);
    REQUIRE(nlohmann::json::accept(end.out));
    return nlohmann::json::parse(end.out);
  }

  void kill(const Replica& replica) {
    replica->signal(SIGKILL);
    replica->wait();
  }

  void start(const std::string& name, const std::string& pipeline) {
    CHECK(call({"start", file(name + ".json", pipeline)}).exit_code == 0);
  }

  nlohmann::json all_runs() { return call_json({"status"}, 0)["runs"]; }

  /// Of the run's terms, in order: the replicas.
  std::vector<std::string> terms(const std::string& run) {
    std::vector<std::string> replicas;
    for (const auto& line : history(run)) {
      if (line.at("kind") == "term_opened") {
        replicas.push_back(line.at("replica"));
      }
    }
    return replicas;
  }

  bool eventually_ended(const std::string& status, std::size_t runs) {
    return eventually(
        [&] {
          const auto all = all_runs();
          return static_cast<std::size_t>(
                     std::count_if(all.begin(), all.end(), [&](const nlohmann::json& run) {
                       return run.at("status") == status;
                     })) == runs;
        },
        kLongRun);
  }

  /// Runs that somebody holds a lease of.
  std::vector<std::string> leased() {
    const SystemClock clock;
    const auto leases =
        open_sqlite_lease_store(store() + "-leases", {"", "", this_process()}, clock);
    REQUIRE(leases.has_value());
    std::vector<std::string> held;
    for (const auto& run : all_runs()) {
      const RunId id{run.at("pipeline"), run.at("iteration")};
      const auto holders = (*leases)->holders({id});
      REQUIRE(holders.has_value());
      if (!holders->front().incarnation.empty()) {
        held.push_back(id.text());
      }
    }
    return held;
  }
};

}  // namespace stagecall::testing
