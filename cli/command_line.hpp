// From argv to what is asked for: which command, its arguments, the options as given.
#pragma once

#include "cli/options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecall::cli {

/// What a command's arguments hold; which of them a command has, its usage says.
struct Arguments {
  std::string file{};
  std::string run{};
  std::string node{};
  std::string attempt{};
  std::string outcome{};
  std::optional<std::string> output{};
  std::optional<std::string> reason{};
  std::optional<std::string> from_failed{};
  std::string older_than{};
  std::string action{};
  std::vector<std::string> kinds{};
  std::vector<std::string> runs{};
  bool names_run = false;  ///< an empty RUN is one too: there is none of that name
  bool names_node = false;
  bool force = false;
  bool follow = false;
};

struct CommandLine {
  std::string command{};
  Arguments arguments{};
  std::vector<GivenOption> flags{};
  std::optional<std::string> config{};
  /// Not empty: the answer to --help or --version; nothing else is to be done.
  std::string answer{};
};

/// invalid_argument: a command, an argument or an option is missing, unknown or given twice.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Errors of the command line itself are in JSON too, if it asks for that.
bool asks_for_json(int argc, const char* const* argv);

}  // namespace stagecall::cli
