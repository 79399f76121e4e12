// Times and the clock seam. The core takes times as arguments; only shells hold a Clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace stagecall {

/// All waits and timeouts; whole milliseconds.
using Duration = std::chrono::milliseconds;
/// Wall clock, milliseconds since the Unix epoch. What history and people see.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// CLOCK_BOOTTIME: goes on during suspend and is never set. Tag only; read it through Clock.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
/// A moment on CLOCK_BOOTTIME; comes from this boot of this host only.
using BootTime = BootClock::time_point;

/// Where shells read time. Implementations are thread-safe and never throw.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual BootTime boot() const = 0;
};

}  // namespace stagecall
