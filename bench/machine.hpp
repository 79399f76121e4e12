// What it is measured on and what it costs, as the kernel says. Reads /proc when asked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace stagecall::bench {

/// Cores, their model, memory, kernel: `2 x Intel(R) Xeon(R) …, 23 GiB, Linux 6.1.0`.
const std::string& machine_text();

/// Resident memory of this process.
double resident_mb();

/// CPU that a process has used; 0 of one that is not there.
double cpu_seconds_of_process(pid_t process);

/// How often threads of this process, living or ended, have waited and were woken.
std::uint64_t wakeups();

}  // namespace stagecall::bench
