// Asks one Redis server, or several independent ones at once: what must be answered by a majority
// goes to all of them before any answer is awaited.
#pragma once

#include "persistence/redis_client.hpp"
#include "stagecall/time.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecall {

/// Belongs to one thread at a time.
class RedisQuorum {
 public:
  struct Answers {
    /// The replies of each server, in the order of its commands; none: it is not known what it did.
    std::vector<std::optional<std::vector<RedisReply>>> of_server{};
    std::size_t count = 0;     ///< servers that answered
    std::string complaints{};  ///< of the others
    bool is_refused = false;   ///< by one of them, and not for a passing reason
  };

  /// The clock outlives it. `client_name` as RedisClient wants it.
  RedisQuorum(const std::vector<RedisServer>& servers, const std::string& client_name,
              const Clock& clock);

  std::size_t size() const { return clients_.size(); }
  std::size_t majority() const { return clients_.size() / 2 + 1; }

  /// Sends each server its commands. Once a majority has answered the others get as long again, and
  /// at least `patience`; all of it ends by the deadline. A server without commands has answered.
  Answers ask(std::vector<std::vector<RedisCommand>> commands, BootTime deadline,
              Duration patience);

 private:
  std::vector<RedisClient> clients_;
  const Clock& clock_;
};

}  // namespace stagecall
