#include "platform/system_clock.hpp"

#include <time.h>

namespace stagecall {
namespace {

Duration read(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds{now.tv_sec} +
                                              std::chrono::nanoseconds{now.tv_nsec});
}

}  // namespace

WallTime SystemClock::wall() const {
  return WallTime{read(CLOCK_REALTIME)};
}

BootTime SystemClock::boot() const {
  return BootTime{read(CLOCK_BOOTTIME)};
}

}  // namespace stagecall
