#include "core/duration_text.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace stagecall {

std::string duration_text(Duration duration) {
  using Unit = std::pair<std::int64_t, std::string_view>;
  constexpr std::array<Unit, 4> kUnits{{{3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}}};
  std::int64_t left = duration.count();
  std::string text;
  for (const auto& [milliseconds, name] : kUnits) {
    if (const std::int64_t whole = left / milliseconds; whole > 0) {
      text += std::to_string(whole);
      text += name;
      left %= milliseconds;
    }
  }
  return text.empty() ? "0ms" : text;
}

}  // namespace stagecall
