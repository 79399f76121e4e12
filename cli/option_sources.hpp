// Where options come from: defaults < settings file < environment < flags.
#pragma once

#include "cli/options.hpp"
#include "stagecall/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecall::cli {

/// What the environment says: STAGECALL_ and an option's name in capitals. Empty variables count as
/// unset.
std::vector<GivenOption> options_of_environment();

/// What a settings file says: keys named like the options, with - or _. invalid_argument says what
/// is wrong and where.
Result<std::vector<GivenOption>> options_of_file(const std::string& path);

/// All sources together; `config` is the settings file that the flags name. Flags and environment
/// are checked before the settings file is opened.
Result<Options> gather_options(const std::vector<GivenOption>& flags,
                               const std::optional<std::string>& config);

/// `$XDG_STATE_HOME/stagecall/stagecall.db`, else `~/.local/state/stagecall/stagecall.db`.
Result<std::string> default_store();

/// Makes the folders that the store is in as needed, for this user alone.
Result<void> make_store_folder(const std::string& store);

}  // namespace stagecall::cli
