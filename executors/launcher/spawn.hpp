// Starts one command as a child of this process, cheaply and in its own process group.
#pragma once

#include "executors/launcher_protocol.hpp"

#include <sys/resource.h>
#include <sys/types.h>

#include <string>

namespace stagecall {

struct Spawned {
  pid_t pid = -1;            ///< −1: it does not run
  std::string error{};       ///< then why: `cannot start "PROGRAM": No such file or directory`
  bool is_scarcity = false;  ///< then whether the machine lacks what it may have again later
};

/// Descriptors, memory or processes are used up: no fault of the command's.
bool is_scarcity(int error_number);

/// `cannot start "PROGRAM": ` and the error's text.
std::string start_fault(const LaunchFrame& launch, int error_number);

/// The child gets `output` as descriptors 1 and 2, this process's descriptor 0, no other; default
/// signal handlers and mask; `files` as its limit of descriptors. Returns when its program has
/// replaced this one's image (or could not). The calling process must have one thread and no
/// signal handlers.
Spawned spawn_command(const LaunchFrame& launch, int output, const rlimit& files);

}  // namespace stagecall
