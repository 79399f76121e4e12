// Handles of processes that stay right when their number is used again. By system call: glibc
// 2.36's header lacks the C linkage that C++ needs.
#pragma once

#include "platform/unique_fd.hpp"

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace stagecall {

/// None: no such process. Readable once it has exited.
inline UniqueFd open_process(pid_t pid) {
  return UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))};
}

inline bool send_signal(const UniqueFd& process, int number) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0U) == 0;
}

}  // namespace stagecall
