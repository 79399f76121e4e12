// The environment that commands get: an allow-list of the engine's, the node's own, and what
// Stagecall says of the attempt. Later ones win.
#pragma once

#include "stagecall/executor.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecall {

using Environment = std::map<std::string, std::string>;

/// PATH HOME USER LOGNAME SHELL LANG LC_* TZ TMPDIR, as they are set in this process now.
Environment allowed_environment();

/// NAME=VALUE of each variable of the launch's command.
std::vector<std::string> command_environment(const Environment& allowed, const Launch& launch,
                                             const std::string& attempt_folder);

}  // namespace stagecall
