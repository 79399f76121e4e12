// The lock that a launcher holds as long as it lives, so that others can tell whether the attempts
// of an incarnation may still run: `FOLDER/launchers/INCARNATION`, by flock.
#pragma once

#include "platform/unique_fd.hpp"
#include "stagecall/error.hpp"

#include <string>

namespace stagecall {

/// Taken by the engine and inherited by its launcher, before which there is nothing to ask about.
Result<UniqueFd> take_launcher_lock(const std::string& folder, const std::string& incarnation);

/// Whether a launcher of this incarnation lives. No file: there is none (any more).
bool is_launcher_alive(const std::string& folder, const std::string& incarnation);

/// Removes the lock files of dead launchers.
void sweep_launcher_locks(const std::string& folder);

}  // namespace stagecall
