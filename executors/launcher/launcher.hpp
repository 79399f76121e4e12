// Runs the commands of one engine: launches, watches, ends them, keeps their output and leaves an
// exit record of each. One thread, no waiting but in epoll. It outlives its engine until what it
// launched has ended.
#pragma once

#include "executors/launcher/log_writer.hpp"
#include "executors/launcher_protocol.hpp"
#include "platform/unique_fd.hpp"

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace stagecall {

class Launcher {
 public:
  struct Options {
    UniqueFd socket;  ///< to the engine
    UniqueFd engine;  ///< pidfd of the engine: its death shows even if a child of it has the socket
    UniqueFd children;  ///< signalfd of SIGCHLD
    rlimit files{};     ///< the commands' limit of descriptors
  };
  explicit Launcher(Options options);

  /// Returns when the engine is gone and all commands have ended.
  void run();

 private:
  using Moment = std::chrono::steady_clock::time_point;

  struct Command {
    LaunchId id;
    std::string folder;
    Duration grace;
    UniqueFd output;
    LogWriter log;
    std::optional<Outcome> ending{};  ///< being ended: what it ends as
    bool catches_term = false;        ///< when it was told to end
    std::optional<Moment> kill_at{};
  };
  using Commands = std::unordered_map<pid_t, Command>;

  static Outcome outcome_of(int status, const Command& command);

  void wait_and_handle();
  void handle_event(std::uint64_t tag);
  void watch(int fd, std::uint64_t tag, std::uint32_t events);
  int wait_limit() const;

  void handle_frames();
  bool is_engine_gone() const;
  void launch(const LaunchFrame& frame);
  bool start(const LaunchFrame& frame);
  bool has_descriptors_left() const;
  void start_waiting();
  void cancel(const CancelFrame& frame);
  void begin_end(Commands::iterator command, Outcome ending, Duration grace);
  void kill_overdue();
  void engine_gone();

  void reap();
  void finish(Commands::iterator command);
  void end_without_command(const LaunchFrame& frame, Outcome outcome);
  void read_output(Command& command);
  void drain_output(Command& command);

  void say(const LauncherFrame& frame);
  void flush();

  Options options_;
  UniqueFd epoll_;
  FrameReader reader_;
  bool has_frames_ = false;  ///< the reader may hold whole frames
  std::string unsent_;
  bool is_write_watched_ = false;
  bool is_ending_ = false;
  Commands commands_;
  std::deque<LaunchFrame> waiting_;  ///< for descriptors, memory or processes; folders are made
  std::unordered_map<std::uint64_t, pid_t> pids_;
  std::set<std::pair<Moment, pid_t>> kills_;
};

}  // namespace stagecall
