// The machine's clocks. The only place, with the launcher, that reads them.
#pragma once

#include "stagecall/time.hpp"
#include "stagecall/trace.hpp"

namespace stagecall {

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  BootTime boot() const override;
};

/// Now, for traces alone: nothing is decided by it.
TraceTime trace_now();

}  // namespace stagecall
