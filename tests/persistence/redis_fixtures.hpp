// What the tests of Redis leases share: servers, stores over them, what the servers hold.
#pragma once

#include "persistence/redis_lease_store.hpp"
#include "platform/system_clock.hpp"
#include "tests/persistence/fixtures.hpp"
#include "tests/persistence/lease_contract.hpp"
#include "tests/support/redis_server.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace stagecall::testing {

/// One or several servers, and lease stores over all of them.
class RedisLeases {
 public:
  explicit RedisLeases(std::size_t count = 1, const std::vector<std::string>& settings = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      servers.push_back(std::make_unique<RedisProcess>(settings));
    }
  }

  RedisProcess& server(std::size_t index = 0) { return *servers[index]; }

  RedisLeaseOptions options(const ReplicaIdentity& self) const {
    RedisLeaseOptions options{.servers = {}, .store_id = "s", .self = self};
    for (const auto& server : servers) {
      options.servers.push_back({.host = "127.0.0.1",
                                 .port = static_cast<std::uint16_t>(server->port()),
                                 .user = user,
                                 .password = password,
                                 .db = db});
    }
    return options;
  }

  Result<std::unique_ptr<LeaseStore>> try_open(const ReplicaIdentity& self) const {
    return open_redis_lease_store(options(self), clock);
  }
  std::unique_ptr<LeaseStore> open(const ReplicaIdentity& self) const {
    auto store = try_open(self);
    REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
    return std::move(*store);
  }

  /// All keys of a server, sorted.
  std::vector<std::string> keys(std::size_t index = 0) const {
    std::istringstream lines{servers[index]->ask({"KEYS", "*"})};
    std::vector<std::string> keys;
    for (std::string line; std::getline(lines, line);) {
      keys.push_back(line);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  /// Leases grow older at once, instead of the test.
  void let_pass(Duration time) const {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      for (const std::string& key : keys(i)) {
        const long left = std::stol(servers[i]->ask({"PTTL", key})) - time.count();
        servers[i]->ask({"PEXPIRE", key, std::to_string(left)});
      }
    }
  }

  LeaseContract contract() const {
    return {.connect = [this](const ReplicaIdentity& self) { return open(self); },
            .let_pass = [this](Duration time) { let_pass(time); },
            .exactness = Duration{5'000},
            .has_always_a_winner = servers.size() == 1};
  }

  std::vector<std::unique_ptr<RedisProcess>> servers;
  std::string user{};
  std::string password{};
  std::uint32_t db = 0;
  SystemClock clock;
};

inline constexpr Duration kRedisTtl{15'000};
inline const RunId kRedisRun{"p", 1};

/// A call's one verdict, or the code of its error: "granted", "busy", "lost", "lease_unavailable".
inline std::string verdict_of(const Result<std::vector<LeaseVerdict>>& verdicts) {
  if (!verdicts) {
    return code_of(verdicts);
  }
  switch (verdicts->at(0)) {
    case LeaseVerdict::granted: return "granted";
    case LeaseVerdict::busy: return "busy";
    case LeaseVerdict::lost: return "lost";
  }
  return "no verdict";
}

inline std::string acquire(LeaseStore& store, const LeaseToken& token, Duration ttl = kRedisTtl) {
  return verdict_of(store.acquire({{kRedisRun, token}}, ttl));
}
inline std::string renew(LeaseStore& store, const LeaseToken& token, Duration ttl = kRedisTtl) {
  return verdict_of(store.renew({{kRedisRun, token}}, ttl));
}
inline std::string release(LeaseStore& store, const LeaseToken& token) {
  return verdict_of(store.release({{kRedisRun, token}}));
}
inline std::string holder(LeaseStore& store) {
  return store.holders({kRedisRun}).value().at(0).incarnation;
}

/// The text of what failed.
inline std::string message_of(const Result<std::vector<LeaseVerdict>>& verdicts) {
  return verdicts ? "no error" : verdicts.error().message;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace stagecall::testing
