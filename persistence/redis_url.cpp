#include "persistence/redis_url.hpp"

#include "persistence/percent.hpp"

#include <charconv>
#include <set>
#include <utility>

namespace stagecall {
namespace {

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return is_whole ? std::optional{number} : std::nullopt;
}

/// The host, without brackets; empty: it is none.
std::string_view host_of(std::string_view text) {
  if (text.starts_with('[')) {
    const bool is_address =
        text.size() > 2 && text.ends_with(']') &&
        text.find_first_not_of("0123456789abcdefABCDEF:.", 1) == text.size() - 1;
    return is_address ? text.substr(1, text.size() - 2) : std::string_view{};
  }
  const bool is_name =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
      std::string_view::npos;
  return is_name ? text : std::string_view{};
}

/// `user:password`; the user may be empty.
bool set_credentials(RedisServer& server, std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  auto user = percent_decoded(text.substr(0, colon));
  auto password = percent_decoded(text.substr(colon + 1));
  if (!user || !password) {
    return false;
  }
  server.user = std::move(*user);
  server.password = std::move(*password);
  return true;
}

}  // namespace

std::string RedisServer::name() const {
  const bool is_bare_ipv6 = host.find(':') != std::string::npos;
  return (is_bare_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) + "/" +
         std::to_string(db);
}

std::optional<RedisUrl> parse_redis_url(std::string_view url) {
  RedisUrl parsed;
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos ||
      (url.substr(0, scheme) != "redis" && url.substr(0, scheme) != "rediss")) {
    return std::nullopt;
  }
  parsed.is_tls = url.substr(0, scheme) == "rediss";
  std::string_view rest = url.substr(scheme + 3);
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    if (!set_credentials(parsed.server, rest.substr(0, at))) {
      return std::nullopt;
    }
    rest.remove_prefix(at + 1);
  }
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    const auto db = whole_number(rest.substr(slash + 1));
    if (!db) {
      return std::nullopt;
    }
    parsed.server.db = *db;
    rest = rest.substr(0, slash);
  }
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = whole_number(rest.substr(colon + 1));
  parsed.server.host = host_of(rest.substr(0, colon));
  if (!port || *port < 1 || *port > 65'535 || parsed.server.host.empty()) {
    return std::nullopt;
  }
  parsed.server.port = static_cast<std::uint16_t>(*port);
  return parsed;
}

std::string without_password(std::string_view url) {
  const auto at = url.rfind('@');
  if (at == std::string_view::npos) {
    return std::string{url};
  }
  const auto scheme = url.find("://");
  const auto start = scheme == std::string_view::npos || scheme > at ? 0 : scheme + 3;
  return std::string{url.substr(0, start)} + "…" + std::string{url.substr(at)};
}

Result<std::vector<RedisServer>> redis_servers(const std::vector<std::string>& urls,
                                               const std::string& role) {
  std::vector<RedisServer> servers;
  for (const std::string& url : urls) {
    auto parsed = parse_redis_url(url);
    if (!parsed) {
      return fail(ErrorCode::invalid_argument,
                  role + " " + without_password(url) +
                      " is not allowed; give redis://[user:password@]host:port[/db]");
    }
    if (parsed->is_tls) {
      return fail(ErrorCode::unsupported,
                  role + " " + without_password(url) + ": this build has no TLS; give redis://");
    }
    servers.push_back(std::move(parsed->server));
  }
  if (!servers.empty()) {
    if (auto allowed = check_redis_servers(servers, role); !allowed) {
      return tl::unexpected<Error>{std::move(allowed).error()};
    }
  }
  return servers;
}

Result<void> check_redis_servers(const std::vector<RedisServer>& servers, const std::string& role) {
  std::set<std::string> names;
  for (const RedisServer& server : servers) {
    if (!names.insert(server.name()).second) {
      return fail(ErrorCode::invalid_argument,
                  role + " " + server.name() + " is named twice; name each once");
    }
  }
  if (servers.size() % 2 == 0) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(servers.size()) + " " + role +
                    "s; give one, or an odd number of independent ones");
  }
  return {};
}

}  // namespace stagecall
