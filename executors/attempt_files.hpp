// The files of one attempt, in its own folder: `log`, `exit` (the exit record), `output`; beside it
// `FOLDER.inputs`, which is there before the launch. Used by the engine and by the launcher. Ids of
// users never enter a path: names are made of hashes.
#pragma once

#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stagecall {

/// `No such file or directory`; thread-safe, never translated.
std::string error_text(int error_number);

/// mkdir with mode 0700, its parent too if that is missing. 0, or the error number.
int make_folder(const std::string& path);

/// At most `limit` + 1 bytes, so that a longer file shows. None: no such file, or a command made
/// something else of it (a fifo would be waited for).
std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit);

/// The outcome in the folder's exit record; none: no such record, or it cannot be read.
std::optional<Outcome> read_exit_record(const std::string& folder);

/// Appears whole or not at all; survives this process, not a power loss. 0, or the error number.
int write_exit_record(const std::string& folder, const Outcome& outcome);

/// Where the inputs of the attempt with this folder lie.
std::string inputs_path(const std::string& folder);

/// Writes them, with mode 0600; the folder itself is not made. 0, or the error number.
int write_inputs(const std::string& folder, std::string_view json);

/// Removes exit record, output and inputs, and the folder unless it holds a log. Does nothing
/// unless the attempt has an exit record: without one it may still run.
void remove_attempt(const std::string& folder);

}  // namespace stagecall
