#include "core/duration.hpp"

#include "tests/formats/refusals.hpp"

#include <string>

using namespace stagecall;
using namespace std::chrono_literals;

TEST_CASE("durations are read part by part") {
  CHECK(read_duration("0ms").value() == 0ms);
  CHECK(read_duration("250ms").value() == 250ms);
  CHECK(read_duration("30s").value() == 30s);
  CHECK(read_duration("90m").value() == 90min);
  CHECK(read_duration("1h30m").value() == 90min);
  CHECK(read_duration("1h2m3s4ms").value() == 1h + 2min + 3s + 4ms);
  CHECK(read_duration("1m5ms").value() == 1min + 5ms);
  CHECK(read_duration("87600h").value() == 87600h);
}

TEST_CASE("what is no duration is refused with what is allowed") {
  for (const std::string text : {"",
                                 "5",
                                 "5 s",
                                 " 5s",
                                 "5s ",
                                 "-5s",
                                 "+5s",
                                 "1e3s",
                                 "1.5h",
                                 "s",
                                 "5parsecs",
                                 "5S",
                                 "5d",
                                 "30m1h",
                                 "1s1s",
                                 "1ms1s",
                                 "1h30",
                                 "0x1s",
                                 "87601h",
                                 "87600h1ms",
                                 "99999999999999999999s",
                                 "18446744073709551615h",
                                 "5s\n",
                                 "٣s"}) {
    CAPTURE(text);
    const auto read = read_duration(text);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code == ErrorCode::invalid_argument);
    CHECK(testing::holds(read.error().message, "ms, s, m or h"));
  }
  CHECK_FALSE(read_duration(std::string{"5s\0", 3}).has_value());
}

TEST_CASE("a written duration has falling units and reads back") {
  CHECK(write_duration(0ms) == "0ms");
  CHECK(write_duration(90min) == "1h30m");
  CHECK(write_duration(1h + 1ms) == "1h1ms");
  CHECK(write_duration(87600h) == "87600h");
  for (std::int64_t ms = 1; ms < 315'360'000'000; ms = ms * 7 + 13) {
    CHECK(read_duration(write_duration(Duration{ms})).value() == Duration{ms});
  }
}
