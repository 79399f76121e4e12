#include "persistence/codec.hpp"

#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using namespace stagecall;
using stagecall::testing::code_of;
using stagecall::testing::wall;

namespace {

template <class T>
constexpr T kMax = std::numeric_limits<T>::max();
template <class T>
constexpr T kMin = std::numeric_limits<T>::min();

const NodeIndex kNode{kMax<std::uint32_t>};
const Attempt kAttempt{kMax<std::uint32_t>};
const Nonce kNonce{0xfedcba9876543210};
const std::string kBytes{"\0\xff\n\x80 \xc3\xa4", 7};
const Outcome kOutcome{OutcomeKind::interrupted, kMin<std::int32_t>, kMax<std::int32_t>, kBytes};

std::vector<Event> every_event() {
  const ReplicaIdentity holder{
      kBytes, "id", {"host", std::string(300, 'b'), kMin<std::int64_t>, kMax<std::uint64_t>}};
  return {RunStarted{},
          TermOpened{holder},
          TermOpened{},
          AttemptSubmitted{kNode, kAttempt, kNonce},
          AttemptSubmitted{NodeIndex{0}, Attempt{1}, Nonce{127}},
          AttemptRunning{NodeIndex{128}, kAttempt},
          AttemptAbsent{kNode, Attempt{0}},
          AttemptUnreachable{NodeIndex{1}, Attempt{2}},
          AttemptFound{NodeIndex{3}, Attempt{4}},
          AttemptTimedOut{NodeIndex{5}, Attempt{6}},
          AttemptEnded{kNode, kAttempt, kOutcome, Next::backoff, wall(kMax<std::int64_t>), false},
          AttemptEnded{kNode, kAttempt, {}, Next::again, wall(kMin<std::int64_t>), true},
          AttemptEnded{NodeIndex{9}, Attempt{1}, {}, Next::finish, std::nullopt, true},
          BackoffEnded{kNode},
          NodeForced{kNode, kOutcome, kBytes},
          StopRequested{kBytes},
          RunTimedOut{},
          RunEnded{RunState::stopped},
          NodeCarried{kNode, kAttempt, true},
          NodeCarried{NodeIndex{2}, Attempt{0}, false}};
}

std::vector<InboxMessage> every_message() {
  const auto report = [](AttemptNews news) {
    return ReportInput{"node", kAttempt, kNonce, std::move(news)};
  };
  return {StopInput{},
          StopInput{kBytes},
          NodeDoneInput{"node", kAttempt, kOutcome, kBytes, kBytes},
          NodeDoneInput{},
          report(SaysRunning{}),
          report(SaysEnded{kOutcome, kBytes}),
          report(SaysAlive{}),
          report(SaysAbsent{true}),
          report(SaysAbsent{false}),
          report(SaysUnknown{})};
}

}  // namespace

TEST_CASE("every event and message comes back as it was, extremes included") {
  CHECK(decode_events(encode_events(every_event())).value() == every_event());
  CHECK(decode_events(encode_events({})).value().empty());
  for (const Event& event : every_event()) {
    CHECK(decode_events(encode_events({event})).value() == std::vector<Event>{event});
  }
  for (const InboxMessage& message : every_message()) {
    CHECK(decode_message(encode_message(message)).value() == message);
  }
}

TEST_CASE("events are counted from the first bytes of a pass, a damaged one has none") {
  for (const std::size_t count : {0, 1, 127, 128, 70'000}) {
    const std::string encoded = encode_events(std::vector<Event>(count, Event{RunTimedOut{}}));
    CHECK(count_events(std::string_view{encoded}.substr(0, kEventCountBytes)) == count);
  }
  CHECK(count_events("") == 0);
  CHECK(count_events("\x01") == 0);
  CHECK(count_events("\x02\x01") == 0);
  CHECK(count_events("\x01\xff") == 0);
}

TEST_CASE("the bytes of format 1 stay what they are") {
  const std::vector<Event> events{AttemptSubmitted{NodeIndex{300}, Attempt{1}, Nonce{0x0102}},
                                  RunEnded{RunState::failed}};
  CHECK(encode_events(events) == std::string("\x01\x02"
                                             "\x03\xac\x02\x01\x02\x01\0\0\0\0\0\0"
                                             "\x0e\x04",
                                             16));
  CHECK(encode_message(StopInput{"no"}) == "\x01\x01\x02no");
}

TEST_CASE("bytes that end early or go on are refused, wherever that is") {
  const std::string events = encode_events(every_event());
  for (std::size_t size = 0; size < events.size(); ++size) {
    REQUIRE(code_of(decode_events(events.substr(0, size))) == "store_damaged");
  }
  CHECK(code_of(decode_events(events + '\0')) == "store_damaged");
  for (const InboxMessage& message : every_message()) {
    const std::string bytes = encode_message(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      REQUIRE(code_of(decode_message(bytes.substr(0, size))) == "store_damaged");
    }
    CHECK(code_of(decode_message(bytes + '\0')) == "store_damaged");
  }
}

TEST_CASE("values out of their range are refused with the byte and the cause") {
  const auto text_of = [](const std::string& bytes) {
    const auto decoded = decode_events(bytes);
    return decoded ? "decoded" : decoded.error().message;
  };
  CHECK(text_of("\x02") == "byte 1 of 1: unknown format version");
  CHECK(text_of("\x01\x01\x7f") == "byte 3 of 3: unknown kind of event or message");
  CHECK(text_of("\x01\x01\x0e\x06") == "byte 4 of 4: not a value of its kind");
  CHECK(text_of("\x01\x7f\x01") == "byte 2 of 3: fewer events than announced");
  CHECK(text_of("\x01\x01\x0a\xff\xff\xff\xff\x10") == "byte 8 of 8: a number is out of its range");
  CHECK(text_of("\x01\x01\x0c\x05"
                "abc") == "byte 4 of 7: a text ends too early");
  const std::string eleven_bytes = std::string(10, '\xff') + "\x01";
  CHECK(text_of("\x01" + eleven_bytes) == "byte 11 of 12: a number is too large");
  CHECK(text_of(std::string("\x01\x80\0", 3)) ==
        "byte 3 of 3: a number is longer than it needs to be");
}

TEST_CASE("flipped bits never do worse than give other values or an error") {
  std::mt19937_64 random{20'261'130};
  const std::string events = encode_events(every_event());
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = events;
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    }
    const auto decoded = decode_events(bytes);
    refused += decoded ? 0 : 1;
    if (decoded) {
      // What was accepted is a value like any other.
      REQUIRE(decode_events(encode_events(*decoded)).value() == *decoded);
    }
    const std::string message = bytes.substr(0, 1) + bytes.substr(2 + random() % 8, 40);
    static_cast<void>(decode_message(message));
  }
  CHECK(refused > 1'000);
}

TEST_CASE("the checksum covers the previous one and every part of a pass") {
  const Pass pass{Seq{2}, Term{3}, wall(4), {}};
  const auto sum = checksum_of(1, pass, "events");
  CHECK(checksum_of(1, pass, "events") == sum);
  CHECK(checksum_of(2, pass, "events") != sum);
  CHECK(checksum_of(1, {Seq{3}, Term{3}, wall(4), {}}, "events") != sum);
  CHECK(checksum_of(1, {Seq{2}, Term{4}, wall(4), {}}, "events") != sum);
  CHECK(checksum_of(1, {Seq{2}, Term{3}, wall(5), {}}, "events") != sum);
  CHECK(checksum_of(1, pass, "eventz") != sum);
  // Stored for ever: the function must not change either.
  CHECK(checksum_of(0, {Seq{1}, Term{1}, wall(0), {}}, "\x01") == 4864367055575659002);
}

TEST_CASE("a content hash is 32 hexadecimal digits of XXH3-128") {
  CHECK(content_hash("") == "99aa06d3014798d86001c324468d497f");
  CHECK(content_hash("a") != content_hash("b"));
}
