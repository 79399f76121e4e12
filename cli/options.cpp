#include "cli/options.hpp"

#include "core/duration.hpp"
#include "core/refusal.hpp"
#include "core/utf8.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/redis_url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace stagecall::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kSlotsMax = 100'000;
constexpr std::array<std::string_view, 6> kLogLevels{"trace", "debug", "info",
                                                     "warn",  "error", "off"};

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return is_whole ? std::optional{number} : std::nullopt;
}

bool set_duration(Duration& option, const std::string& text, Duration least, Duration most) {
  const auto read = read_duration(text);
  if (!read || *read < least || *read > most) {
    return false;
  }
  option = *read;
  return true;
}

bool set_switch(bool& option, const std::string& text) {
  option = text == "true" || text == "1";
  return option || text == "false" || text == "0";
}

/// A name that people and logs show.
bool set_name(std::string& option, const std::string& text) {
  const bool has_control = std::any_of(
      text.begin(), text.end(), [](char byte) { return (byte >= 0 && byte < ' ') || byte == 127; });
  if (text.empty() || text.size() > kLimits.id_bytes_max || has_control ||
      find_invalid_utf8(text)) {
    return false;
  }
  option = text;
  return true;
}

bool set_path(std::string& option, const std::string& text) {
  option = text;
  return !text.empty() && text.find('\0') == std::string::npos;
}

/// `ADDRESS:PORT`; port 0 = any that is free.
bool set_http(std::string& option, const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port =
      colon == std::string::npos ? std::nullopt : number_of<std::uint16_t>(text.substr(colon + 1));
  option = text;
  return port && colon > 0;
}

bool set_slots(Options& options, const std::string& text) {
  const auto slots = number_of<std::uint32_t>(text);
  if (!slots || *slots < 1 || *slots > kSlotsMax) {
    return false;
  }
  options.slots = *slots;
  return true;
}

bool set_speedup(Options& options, const std::string& text) {
  const auto speedup = number_of<double>(text);
  if (!speedup || !std::isfinite(*speedup) || *speedup <= 0) {
    return false;
  }
  options.speedup = *speedup;
  return true;
}

bool set_durability(Options& options, const std::string& text) {
  options.durability = text == "normal" ? Durability::normal : Durability::full;
  return text == "full" || text == "normal";
}

bool set_log_level(Options& options, const std::string& text) {
  options.log_level = text;
  return std::find(kLogLevels.begin(), kLogLevels.end(), text) != kLogLevels.end();
}

constexpr std::string_view kNameAllowed = "1 to 255 bytes of UTF-8 without control characters";
constexpr std::string_view kSwitchAllowed = "true, 1, false or 0";

constexpr std::array kSpecs{
    OptionSpec{"store", "FILE.db", "the store; default: under XDG_STATE_HOME", "a path",
               [](Options& o, const std::string& v) { return set_path(o.store, v); }},
    OptionSpec{"leases", "URL", "a lease server, once for each; default: a file beside the store",
               "redis://[user:password@]host:port[/db]",
               [](Options& o, const std::string& v) {
                 o.leases.push_back(v);
                 return parse_redis_url(v).has_value();
               },
               true},
    OptionSpec{"replica", "NAME", "name of this process; default: host and pid", kNameAllowed,
               [](Options& o, const std::string& v) { return set_name(o.replica, v); }},
    OptionSpec{"slots", "N", "attempts at once; default: number of cores",
               "a whole number from 1 to 100,000", set_slots},
    OptionSpec{"trace", "FILE", "of run and serve: write what happens when, for ui.perfetto.dev",
               "a path", [](Options& o, const std::string& v) { return set_path(o.trace, v); }},
    OptionSpec{"http", "ADDRESS:PORT",
               "of run and serve: answer /health, /inspect, /runs and /metrics there",
               "an address and a port, as in 127.0.0.1:8080",
               [](Options& o, const std::string& v) { return set_http(o.http, v); }},
    OptionSpec{"tick", "D", "how often a run looks at itself; default: 5s",
               "a duration from 50ms to 1h",
               [](Options& o, const std::string& v) { return set_duration(o.tick, v, 50ms, 1h); }},
    OptionSpec{
        "lease-ttl", "D", "length of a lease; default: 15s", "a duration from 1s to 10m",
        [](Options& o, const std::string& v) { return set_duration(o.lease_ttl, v, 1s, 10min); }},
    OptionSpec{"drain-grace", "D", "what local attempts get when interrupted; default: 10s",
               "a duration from 0s to ten years (87600h)",
               [](Options& o, const std::string& v) {
                 return set_duration(o.drain_grace, v, 0s, 87'600h);
               }},
    OptionSpec{"durability", "D", "full (default) or normal", "full or normal", set_durability},
    OptionSpec{"speedup", "X", "divides the recorded runtimes of WfFormat files",
               "a number greater than 0", set_speedup},
    OptionSpec{"request-id", "ID", "makes a request repeatable", kNameAllowed,
               [](Options& o, const std::string& v) { return set_name(o.request_id, v); }},
    OptionSpec{"json", "", "one JSON value on stdout, errors included", kSwitchAllowed,
               [](Options& o, const std::string& v) { return set_switch(o.json, v); }},
    OptionSpec{"quiet", "", "no progress and no summary", kSwitchAllowed,
               [](Options& o, const std::string& v) { return set_switch(o.quiet, v); }},
    OptionSpec{"log-level", "L", "trace, debug, info, warn (default), error or off",
               "trace, debug, info, warn, error or off", set_log_level},
};

Error not_allowed(const OptionSpec& spec, const GivenOption& given) {
  const std::string shown = spec.name == "leases" ? without_password(given.value) : given.value;
  return {ErrorCode::invalid_argument, given.origin + ": " + quoted(shown) +
                                           " is not allowed; give " + std::string{spec.allowed}};
}

}  // namespace

std::span<const OptionSpec> option_specs() {
  return kSpecs;
}

Result<void> apply_options(Options& options, const std::vector<GivenOption>& given) {
  if (std::any_of(given.begin(), given.end(),
                  [](const GivenOption& one) { return one.name == "leases"; })) {
    options.leases.clear();
  }
  for (const GivenOption& one : given) {
    const auto spec = std::find_if(kSpecs.begin(), kSpecs.end(),
                                   [&](const OptionSpec& known) { return known.name == one.name; });
    if (spec == kSpecs.end()) {
      return fail(ErrorCode::invalid_argument, one.origin + ": there is no such option");
    }
    if (!spec->set(options, one.value)) {
      return tl::unexpected<Error>{not_allowed(*spec, one)};
    }
  }
  return {};
}

Result<void> check_supported(const Options& options) {
  if (auto servers = redis_servers(options.leases, "lease server"); !servers) {
    return tl::unexpected<Error>{std::move(servers).error()};
  }
  return {};
}

}  // namespace stagecall::cli
