// A clock that stands until it is set.
#pragma once

#include "stagecall/time.hpp"

#include <atomic>
#include <cstdint>

namespace stagecall::testing {

class SetClock final : public Clock {
 public:
  WallTime wall() const override { return WallTime{Duration{1'000}}; }
  BootTime boot() const override { return BootTime{Duration{now.load()}}; }
  std::atomic<std::int64_t> now{1'000'000};
};

}  // namespace stagecall::testing
