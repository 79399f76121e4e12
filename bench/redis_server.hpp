// A redis-server of the bench's own, on a free port of the loopback, without persistence.
#pragma once

#include "bench/child.hpp"
#include "persistence/redis_client.hpp"
#include "stagecall/error.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::bench {

/// All replies, from one pipelined batch; waits ten seconds at most.
Result<std::vector<RedisReply>> ask(RedisClient& client, std::vector<RedisCommand> commands);

/// Ends with this.
class RedisProcess {
 public:
  /// Once it answers. unsupported: there is no redis-server here.
  static Result<RedisProcess> start(const std::string& folder);

  RedisServer address() const { return {.host = "127.0.0.1", .port = port_}; }
  std::string url() const { return "redis://" + address().name(); }
  pid_t pid() const { return child_.pid(); }

 private:
  RedisProcess(Child child, std::uint16_t port) : child_(std::move(child)), port_(port) {}

  Child child_;
  std::uint16_t port_;
};

}  // namespace stagecall::bench
