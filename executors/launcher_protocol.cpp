#include "executors/launcher_protocol.hpp"

#include "executors/byte_codec.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace stagecall {
namespace {

enum class FrameKind : std::uint64_t { launch = 1, cancel, running, ended, absent };

constexpr std::uint64_t kExitRecordVersion = 1;
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

void write_outcome(ByteWriter& to, const Outcome& outcome) {
  to.number(static_cast<std::uint64_t>(outcome.kind));
  to.number(outcome.exit_code.has_value());
  to.signed_number(outcome.exit_code.value_or(0));
  to.number(outcome.signal.has_value());
  to.signed_number(outcome.signal.value_or(0));
  to.text(outcome.error);
}

std::optional<std::int32_t> read_optional(ByteReader& from) {
  const bool is_set = from.number() != 0;
  const auto value = static_cast<std::int32_t>(from.signed_number());
  return is_set ? std::optional{value} : std::nullopt;
}

std::optional<Outcome> read_outcome(ByteReader& from) {
  const std::uint64_t kind = from.number();
  if (kind > static_cast<std::uint64_t>(OutcomeKind::interrupted)) {
    return std::nullopt;
  }
  Outcome outcome{static_cast<OutcomeKind>(kind)};
  outcome.exit_code = read_optional(from);
  outcome.signal = read_optional(from);
  outcome.error = from.text();
  return outcome;
}

void write_kind(ByteWriter& to, FrameKind kind, LaunchId id) {
  to.number(static_cast<std::uint64_t>(kind));
  to.number(id.value);
}

void write_body(ByteWriter& to, const LaunchFrame& frame) {
  write_kind(to, FrameKind::launch, frame.id);
  to.text(frame.folder);
  to.texts(frame.argv);
  to.texts(frame.env);
  to.text(frame.cwd);
  to.signed_number(frame.trusted_until.time_since_epoch().count());
  to.signed_number(frame.grace.count());
}

void write_body(ByteWriter& to, const CancelFrame& frame) {
  write_kind(to, FrameKind::cancel, frame.id);
  to.number(static_cast<std::uint64_t>(frame.reason));
  to.signed_number(frame.grace.count());
}

void write_body(ByteWriter& to, const RunningFrame& frame) {
  write_kind(to, FrameKind::running, frame.id);
}

void write_body(ByteWriter& to, const EndedFrame& frame) {
  write_kind(to, FrameKind::ended, frame.id);
  write_outcome(to, frame.outcome);
}

void write_body(ByteWriter& to, const AbsentFrame& frame) {
  write_kind(to, FrameKind::absent, frame.id);
}

template <class Frame>
void append_any(std::string& out, const Frame& frame) {
  const std::size_t start = out.size();
  out.append(kLengthBytes, '\0');
  ByteWriter to{out};
  std::visit([&to](const auto& each) { write_body(to, each); }, frame);
  const std::uint64_t length = out.size() - start - kLengthBytes;
  std::memcpy(out.data() + start, &length, kLengthBytes);
}

LaunchFrame read_launch(ByteReader& from, LaunchId id) {
  LaunchFrame frame;
  frame.id = id;
  frame.folder = from.text();
  frame.argv = from.texts();
  frame.env = from.texts();
  frame.cwd = from.text();
  frame.trusted_until = BootTime{Duration{from.signed_number()}};
  frame.grace = Duration{from.signed_number()};
  return frame;
}

}  // namespace

void append_frame(std::string& out, const EngineFrame& frame) {
  append_any(out, frame);
}

void append_frame(std::string& out, const LauncherFrame& frame) {
  append_any(out, frame);
}

std::optional<EngineFrame> parse_engine_frame(std::string_view body) {
  ByteReader from{body};
  const auto kind = static_cast<FrameKind>(from.number());
  const LaunchId id{from.number()};
  std::optional<EngineFrame> frame;
  if (kind == FrameKind::launch) {
    frame = read_launch(from, id);
  } else if (kind == FrameKind::cancel) {
    const std::uint64_t reason = from.number();
    if (reason > static_cast<std::uint64_t>(CancelReason::drain)) {
      return std::nullopt;
    }
    frame = CancelFrame{id, static_cast<CancelReason>(reason), Duration{from.signed_number()}};
  }
  return from.is_whole() ? frame : std::nullopt;
}

std::optional<LauncherFrame> parse_launcher_frame(std::string_view body) {
  ByteReader from{body};
  const auto kind = static_cast<FrameKind>(from.number());
  const LaunchId id{from.number()};
  std::optional<LauncherFrame> frame;
  if (kind == FrameKind::running) {
    frame = RunningFrame{id};
  } else if (kind == FrameKind::absent) {
    frame = AbsentFrame{id};
  } else if (kind == FrameKind::ended) {
    if (std::optional<Outcome> outcome = read_outcome(from)) {
      frame = EndedFrame{id, *std::move(outcome)};
    }
  }
  return from.is_whole() ? frame : std::nullopt;
}

std::string encode_exit_record(const Outcome& outcome) {
  std::string bytes;
  ByteWriter to{bytes};
  to.number(kExitRecordVersion);
  write_outcome(to, outcome);
  return bytes;
}

std::optional<Outcome> parse_exit_record(std::string_view bytes) {
  ByteReader from{bytes};
  if (from.number() != kExitRecordVersion) {
    return std::nullopt;
  }
  std::optional<Outcome> outcome = read_outcome(from);
  return from.is_whole() ? outcome : std::nullopt;
}

FrameReader::Fill FrameReader::fill(int fd) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const ssize_t got = ::recv(fd, buffer_.data() + before, kReadBytes, MSG_DONTWAIT);
  const int error = errno;
  buffer_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got > 0) {
    return Fill::read;
  }
  const bool is_waiting = got < 0 && (error == EAGAIN || error == EINTR);
  return is_waiting ? Fill::nothing : Fill::closed;
}

std::optional<std::string_view> FrameReader::next() {
  const std::string_view rest = std::string_view{buffer_}.substr(taken_);
  std::uint64_t length = 0;
  if (rest.size() < kLengthBytes) {
    return std::nullopt;
  }
  std::memcpy(&length, rest.data(), kLengthBytes);
  if (length > kFrameBytesMax) {
    is_broken_ = true;
    return std::nullopt;
  }
  if (rest.size() - kLengthBytes < length) {
    return std::nullopt;
  }
  taken_ += kLengthBytes + length;
  return rest.substr(kLengthBytes, length);
}

}  // namespace stagecall
