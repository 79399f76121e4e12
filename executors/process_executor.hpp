// Runs commands. One launcher process per engine forks them all and is their subreaper; it survives
// the engine long enough to end them and to leave exit records that a restarted engine reads.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <memory>
#include <string>

namespace stagecall {

struct ProcessExecutorOptions {
  std::string folder;       ///< `STORE.d`; created with mode 0700
  std::string incarnation;  ///< of this engine
};

/// The clock must outlive the executor.
std::unique_ptr<Executor> make_process_executor(ProcessExecutorOptions options, const Clock& clock);

/// What is kept of a command's output: its log's head and tail.
struct CommandLog {
  std::string head;
  std::string tail;
  std::uint64_t bytes_left_out = 0;  ///< between head and tail
};

/// Reads the log of an attempt, running or ended; not_found if there is none. Any thread.
Result<CommandLog> read_command_log(const std::string& folder, const AttemptKey& key);

}  // namespace stagecall
