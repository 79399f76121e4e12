#include "platform/system_clock.hpp"

#include <time.h>

namespace stagecall {
namespace {

std::chrono::nanoseconds read_exactly(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

Duration read(clockid_t id) {
  return std::chrono::duration_cast<Duration>(read_exactly(id));
}

}  // namespace

WallTime SystemClock::wall() const {
  return WallTime{read(CLOCK_REALTIME)};
}

BootTime SystemClock::boot() const {
  return BootTime{read(CLOCK_BOOTTIME)};
}

TraceTime trace_now() {
  return TraceTime{read_exactly(CLOCK_BOOTTIME)};
}

}  // namespace stagecall
