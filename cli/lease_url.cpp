#include "cli/lease_url.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

namespace stagecall::cli {
namespace {

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return is_whole ? std::optional{number} : std::nullopt;
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 2 && host.ends_with(']') &&
           host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  }
  return !host.empty() &&
         host.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
             std::string_view::npos;
}

}  // namespace

bool is_lease_url(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos ||
      (url.substr(0, scheme) != "redis" && url.substr(0, scheme) != "rediss")) {
    return false;
  }
  std::string_view rest = url.substr(scheme + 3);
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    if (rest.substr(0, at).find(':') == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(at + 1);
  }
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    if (!whole_number(rest.substr(slash + 1))) {
      return false;
    }
    rest = rest.substr(0, slash);
  }
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos || !is_host(rest.substr(0, colon))) {
    return false;
  }
  const auto port = whole_number(rest.substr(colon + 1));
  return port && *port >= 1 && *port <= 65'535;
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

}  // namespace stagecall::cli
