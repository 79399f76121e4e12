#include "core/duration.hpp"

#include "core/refusal.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace stagecall {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array<Unit, 4> kUnits{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

constexpr std::int64_t kLongest = std::int64_t{10} * 365 * 24 * 3'600'000;  // ten years

tl::unexpected<Error> refuse(std::string_view text) {
  return fail(ErrorCode::invalid_argument,
              "the duration " + quoted(text) +
                  " is not a whole number and ms, s, m or h, nor such parts with falling units "
                  "(250ms, 30s, 1h30m), of at most ten years (87600h)");
}

/// Position in kUnits of the unit at the start of the text; kUnits.size() if there is none.
std::size_t unit_of(std::string_view text) {
  const auto letters = text.substr(0, text.find_first_of("0123456789"));
  std::size_t unit = 0;
  while (unit < kUnits.size() && kUnits[unit].name != letters) {
    ++unit;
  }
  return unit;
}

}  // namespace

Result<Duration> read_duration(std::string_view text) {
  std::string_view rest = text;
  std::int64_t sum = 0;
  std::size_t unit_first = 0;  // the largest unit that may still come
  do {
    std::uint64_t count = 0;  // unsigned: takes no sign
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (read.ec != std::errc{}) {
      return refuse(text);
    }
    rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
    const std::size_t unit = unit_of(rest);
    if (unit == kUnits.size() || unit < unit_first) {
      return refuse(text);
    }
    const auto left = static_cast<std::uint64_t>((kLongest - sum) / kUnits[unit].milliseconds);
    if (count > left) {
      return refuse(text);
    }
    sum += static_cast<std::int64_t>(count) * kUnits[unit].milliseconds;
    rest.remove_prefix(kUnits[unit].name.size());
    unit_first = unit + 1;
  } while (!rest.empty());
  return Duration{sum};
}

std::string write_duration(Duration duration) {
  std::string text;
  std::int64_t rest = duration.count();
  for (const Unit& unit : kUnits) {
    if (rest >= unit.milliseconds) {
      text += std::to_string(rest / unit.milliseconds);
      text += unit.name;
      rest %= unit.milliseconds;
    }
  }
  return text.empty() ? "0ms" : text;
}

}  // namespace stagecall
