// The address of a Redis server. It may hold a password: never show one whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace stagecall
