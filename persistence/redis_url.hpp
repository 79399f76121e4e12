// The address of a Redis server. It may hold a password: never show one whole.
#pragma once

#include "stagecall/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

struct RedisServer {
  std::string host;  ///< a name or an address, IPv6 without brackets
  std::uint16_t port = 6379;
  std::string user{};      ///< empty: the default user
  std::string password{};  ///< empty: none is sent
  std::uint32_t db = 0;

  /// `host:port/db`: for people, and to tell servers apart. Without user and password.
  std::string name() const;
};

struct RedisUrl {
  RedisServer server;
  bool is_tls = false;
};

/// `redis://[user:password@]host:port[/db]`, or the same with `rediss://`. User and password may be
/// percent-encoded; a literal `%` must be. None: it does not have that form.
std::optional<RedisUrl> parse_redis_url(std::string_view url);

/// The address without user and password, whatever its form.
std::string without_password(std::string_view url);

/// The servers of these addresses; none of none. Errors name the address, as `role`, and what is
/// allowed: invalid_argument for its form, unsupported for TLS, and as check_redis_servers.
Result<std::vector<RedisServer>> redis_servers(const std::vector<std::string>& urls,
                                               const std::string& role);

/// invalid_argument unless they are one, or an odd number of different ones.
Result<void> check_redis_servers(const std::vector<RedisServer>& servers, const std::string& role);

}  // namespace stagecall
