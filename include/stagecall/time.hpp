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
  /// What its times differ by; this and what follows is what the standard asks of a clock.
  using duration = Duration;
  /// A count of milliseconds.
  using rep = duration::rep;
  /// A millisecond.
  using period = duration::period;
  /// See BootTime.
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;  ///< never set, never goes back
};
/// A moment on CLOCK_BOOTTIME; comes from this boot of this host only.
using BootTime = BootClock::time_point;

/// Where shells read time. Implementations are thread-safe and never throw.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Now, as people see it; may jump either way when the clock is set.
  virtual WallTime wall() const = 0;
  /// Now, for deadlines and trust; never goes back.
  virtual BootTime boot() const = 0;
};

}  // namespace stagecall
