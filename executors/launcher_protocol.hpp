// What the engine and its launcher say to each other over their socket: frames of a length and a
// body. The code of both ends; no I/O but FrameReader::fill.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/run.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecall {

/// Names an attempt on one socket; never used twice on it.
using LaunchId = Number<struct LaunchIdTag, std::uint64_t>;

/// Larger frames are refused by the sender and end the conversation at the receiver.
inline constexpr std::size_t kFrameBytesMax = std::size_t{64} << 20;

// Engine to launcher.

struct LaunchFrame {
  LaunchId id;
  std::string folder;  ///< the attempt's, absolute
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< NAME=VALUE, all that the command gets
  std::string cwd;               ///< empty = the launcher's
  BootTime trusted_until;
  Duration grace;  ///< if the engine dies; the launcher caps it
  friend bool operator==(const LaunchFrame&, const LaunchFrame&) = default;
};

struct CancelFrame {
  LaunchId id;
  CancelReason reason = CancelReason::stop;
  Duration grace;
  friend bool operator==(const CancelFrame&, const CancelFrame&) = default;
};

using EngineFrame = std::variant<LaunchFrame, CancelFrame>;

// Launcher to engine.

/// The command's program runs.
struct RunningFrame {
  LaunchId id;
  friend bool operator==(const RunningFrame&, const RunningFrame&) = default;
};

/// Sent once, when the exit record is in the attempt's folder.
struct EndedFrame {
  LaunchId id;
  Outcome outcome;
  friend bool operator==(const EndedFrame&, const EndedFrame&) = default;
};

/// The attempt's folder was there already, without an exit record: somebody launched it before.
struct AbsentFrame {
  LaunchId id;
  friend bool operator==(const AbsentFrame&, const AbsentFrame&) = default;
};

using LauncherFrame = std::variant<RunningFrame, EndedFrame, AbsentFrame>;

void append_frame(std::string& out, const EngineFrame& frame);
void append_frame(std::string& out, const LauncherFrame& frame);

/// None: the body is not a frame of this kind.
std::optional<EngineFrame> parse_engine_frame(std::string_view body);
std::optional<LauncherFrame> parse_launcher_frame(std::string_view body);

/// The content of an exit record; versioned.
std::string encode_exit_record(const Outcome& outcome);
std::optional<Outcome> parse_exit_record(std::string_view bytes);

/// Cuts what a stream socket brings into frame bodies.
class FrameReader {
 public:
  enum class Fill : std::uint8_t { read, nothing, closed };

  /// Reads once, without waiting, from a non-blocking descriptor.
  Fill fill(int fd);
  /// The next whole body, valid until the next call of fill(). None: not there yet, or broken.
  std::optional<std::string_view> next();
  /// A length was out of bounds: the stream cannot be read on.
  bool is_broken() const { return is_broken_; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
  bool is_broken_ = false;
};

}  // namespace stagecall
