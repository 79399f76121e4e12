// The options that every command takes: their names, defaults and ranges. Nothing here opens a file
// or a connection.
#pragma once

#include "messages/limits.hpp"
#include "persistence/sqlite_store.hpp"
#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall::cli {

struct Options {
  std::string store{};  ///< empty: the default, see default_store
  std::vector<std::string> leases{};
  std::string replica{};    ///< empty: host and pid
  std::uint32_t slots = 0;  ///< 0: as many as there are cores
  std::string trace{};
  std::string http{};  ///< empty: no HTTP
  Duration tick = kLimits.tick;
  Duration lease_ttl = kLimits.lease_ttl;
  Duration drain_grace{10'000};
  Durability durability = Durability::full;
  double speedup = 1;
  std::string request_id{};
  bool json = false;
  bool quiet = false;
  std::string log_level = "warn";
};

struct OptionSpec {
  std::string_view name;         ///< as on the command line, without `--`
  std::string_view placeholder;  ///< of its value; empty: a switch, which takes none there
  std::string_view help;
  std::string_view allowed;  ///< in words
  bool (*set)(Options&, const std::string& value);
  bool repeats = false;
};

/// Ordered as shown by --help. `config` is none of them: it says where others come from.
std::span<const OptionSpec> option_specs();

/// A value as somebody gave it.
struct GivenOption {
  std::string name;
  std::string value;
  std::string origin;  ///< how they called it: `--tick`, `STAGECALL_TICK`, `tick in FILE.toml`
};

/// Takes over what one source says: an option that repeats replaces what earlier sources said.
/// invalid_argument names the origin, the value and what is allowed.
Result<void> apply_options(Options& options, const std::vector<GivenOption>& given);

/// What no single value shows: invalid_argument for lease servers that are no quorum; unsupported
/// for what is well-formed, but which this release does not have.
Result<void> check_supported(const Options& options);

}  // namespace stagecall::cli
