// The one source of chance of a simulation: the same seed gives the same throws.
#pragma once

#include "core/random_sequence.hpp"
#include "stagecall/time.hpp"

#include <cstdint>

namespace stagecall::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : sequence_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  std::uint64_t next() { return sequence_.next(); }
  /// 0 … count - 1; the count is more than 0.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  /// Both ends included.
  Duration between(Duration least, Duration most) {
    return least + Duration{static_cast<std::int64_t>(
                       below(static_cast<std::uint64_t>((most - least).count()) + 1))};
  }
  /// [0, 1)
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool hits(double chance) { return chance > 0 && fraction() < chance; }

 private:
  RandomSequence sequence_;
};

}  // namespace stagecall::sim
