#include "executors/launcher_protocol.hpp"

#include "platform/unique_fd.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <limits>
#include <string>

using namespace stagecall;

namespace {

const LaunchFrame kLaunch{.id = LaunchId{5},
                          .folder = "/store.d/attempts/a/b",
                          .argv = {"printf", "", std::string("\0\xff", 2)},
                          .env = {"A=1", "B="},
                          .cwd = "/srv",
                          .trusted_until = BootTime{Duration{-3}},
                          .grace = Duration{10'000}};

template <class Frame>
std::string body_of(const Frame& frame) {
  std::string bytes;
  append_frame(bytes, frame);
  return bytes.substr(8);
}

}  // namespace

TEST_CASE("frames come back as they were sent") {
  const EngineFrame launch = kLaunch;
  CHECK(parse_engine_frame(body_of(launch)) == launch);
  const EngineFrame cancel = CancelFrame{LaunchId{6}, CancelReason::drain, Duration{7}};
  CHECK(parse_engine_frame(body_of(cancel)) == cancel);
  const LauncherFrame running = RunningFrame{LaunchId{std::numeric_limits<std::uint64_t>::max()}};
  CHECK(parse_launcher_frame(body_of(running)) == running);
  const LauncherFrame absent = AbsentFrame{LaunchId{8}};
  CHECK(parse_launcher_frame(body_of(absent)) == absent);
  const LauncherFrame ended =
      EndedFrame{LaunchId{9}, {OutcomeKind::failed, std::nullopt, 11, "signal 11 (SEGV)"}};
  CHECK(parse_launcher_frame(body_of(ended)) == ended);
}

TEST_CASE("a frame cut short, lengthened or of the other side is none") {
  const std::string body = body_of(EngineFrame{kLaunch});
  for (std::size_t size = 0; size < body.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(parse_engine_frame(body.substr(0, size)));
  }
  CHECK_FALSE(parse_engine_frame(body + "x"));
  CHECK_FALSE(parse_launcher_frame(body));
}

TEST_CASE("an exit record keeps its outcome, damaged or of another version it is none") {
  const Outcome outcome{OutcomeKind::failed, 3, std::nullopt, "exit 3"};
  std::string record = encode_exit_record(outcome);
  CHECK(parse_exit_record(record) == outcome);
  CHECK_FALSE(parse_exit_record(record.substr(1)));
  CHECK_FALSE(parse_exit_record(""));
  record.front() = 2;
  CHECK_FALSE(parse_exit_record(record));
}

TEST_CASE("frames are cut from a stream however it is split, and a wild length breaks it") {
  std::array<int, 2> ends{-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const UniqueFd from{ends[0]};
  UniqueFd to{ends[1]};
  FrameReader reader;
  CHECK(reader.fill(from.get()) == FrameReader::Fill::nothing);

  std::string bytes;
  append_frame(bytes, EngineFrame{kLaunch});
  const std::string one = bytes.substr(8);
  append_frame(bytes, EngineFrame{kLaunch});
  std::size_t bodies = 0;
  for (const char byte : bytes) {
    REQUIRE(::send(to.get(), &byte, 1, 0) == 1);
    REQUIRE(reader.fill(from.get()) == FrameReader::Fill::read);
    while (const auto body = reader.next()) {
      CHECK(*body == one);
      ++bodies;
    }
  }
  CHECK(bodies == 2);
  CHECK_FALSE(reader.is_broken());

  const std::string wild(8, '\xff');
  REQUIRE(::send(to.get(), wild.data(), wild.size(), 0) == 8);
  to.reset();
  CHECK(reader.fill(from.get()) == FrameReader::Fill::read);
  CHECK_FALSE(reader.next());
  CHECK(reader.is_broken());
  CHECK(reader.fill(from.get()) == FrameReader::Fill::closed);
}
