// The machine's clocks. The only place, with the launcher, that reads them.
#pragma once

#include "stagecall/time.hpp"

namespace stagecall {

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  BootTime boot() const override;
};

}  // namespace stagecall
