#include "executors/launcher/launcher.hpp"

#include "executors/attempt_files.hpp"
#include "executors/cancelled.hpp"
#include "executors/command_log.hpp"
#include "executors/launcher/spawn.hpp"
#include "platform/system_clock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

namespace stagecall {
namespace {

// Tags of what epoll watches; the other tags are pids, whose output it is.
constexpr std::uint64_t kSocketTag = ~std::uint64_t{0};
constexpr std::uint64_t kEngineTag = kSocketTag - 1;
constexpr std::uint64_t kChildrenTag = kSocketTag - 2;

constexpr int kLaunchesPerRound = 32;
constexpr Duration kEngineEndedGraceMax{2'000};
/// Between two tries of a launch that the machine lacked something for.
constexpr Duration kScarcityWait{100};
/// The launcher's own descriptors, those open for a moment too.
constexpr std::size_t kOwnDescriptors = 16;
/// The largest pipe an unprivileged command can make of its own.
constexpr std::size_t kPipeBytesMax = std::size_t{1} << 20;

std::array<char, kLogChunkBytes> chunk;

Outcome ended_by_signal(int number) {
  std::string error = "signal " + std::to_string(number);
  if (const char* name = ::sigabbrev_np(number)) {
    error += std::string{" ("} + name + ")";
  }
  return {.kind = OutcomeKind::failed, .signal = number, .error = std::move(error)};
}

/// Whether the process has a handler for TERM of its own.
bool catches_term(pid_t pid) {
  static constexpr std::string_view kField = "\nSigCgt:\t";
  const auto status = read_regular_file("/proc/" + std::to_string(pid) + "/status", 16'384);
  const auto found = status ? status->find(kField) : std::string::npos;
  if (found == std::string::npos) {
    return false;
  }
  std::uint64_t caught = 0;
  const char* digits = status->data() + found + kField.size();
  std::from_chars(digits, status->data() + status->size(), caught, 16);
  return (caught >> (SIGTERM - 1) & 1U) != 0;
}

}  // namespace

Launcher::Launcher(Options options)
    : options_(std::move(options)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  watch(options_.socket.get(), kSocketTag, EPOLLIN);
  watch(options_.engine.get(), kEngineTag, EPOLLIN);
  watch(options_.children.get(), kChildrenTag, EPOLLIN);
}

void Launcher::run() {
  while (!is_ending_ || !commands_.empty()) {
    wait_and_handle();
  }
}

void Launcher::wait_and_handle() {
  std::array<epoll_event, 64> events;
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_limit());
  for (int i = 0; i < count; ++i) {
    handle_event(events[static_cast<std::size_t>(i)].data.u64);
  }
  if (has_frames_) {
    handle_frames();
  }
  kill_overdue();
  start_waiting();
  flush();
}

void Launcher::handle_event(std::uint64_t tag) {
  if (tag == kChildrenTag) {
    signalfd_siginfo ignored;
    while (::read(options_.children.get(), &ignored, sizeof ignored) > 0) {}
    reap();
  } else if (tag == kEngineTag) {
    engine_gone();
  } else if (tag == kSocketTag) {
    if (!is_ending_ && !has_frames_) {
      const FrameReader::Fill fill = reader_.fill(options_.socket.get());
      has_frames_ = fill == FrameReader::Fill::read;
      if (fill == FrameReader::Fill::closed) {
        engine_gone();
      }
    }
  } else if (const auto command = commands_.find(static_cast<pid_t>(tag));
             command != commands_.end()) {
    read_output(command->second);
  }
}

void Launcher::watch(int fd, std::uint64_t tag, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }
}

int Launcher::wait_limit() const {
  if (has_frames_) {
    return 0;
  }
  const Duration::rep limit = waiting_.empty() ? 3'600'000 : kScarcityWait.count();
  if (kills_.empty()) {
    return waiting_.empty() ? -1 : static_cast<int>(limit);
  }
  const auto left = kills_.begin()->first - std::chrono::steady_clock::now();
  const auto rounded = std::chrono::ceil<Duration>(left).count();
  return static_cast<int>(std::clamp<Duration::rep>(rounded, 0, limit));
}

// --- what the engine says ---

void Launcher::handle_frames() {
  for (int launches = 0; launches < kLaunchesPerRound && !is_ending_; ++launches) {
    const auto body = reader_.next();
    if (!body) {
      has_frames_ = false;
      if (reader_.is_broken()) {
        engine_gone();
      }
      return;
    }
    const auto frame = parse_engine_frame(*body);
    if (!frame) {
      engine_gone();
    } else if (const auto* cancelled = std::get_if<CancelFrame>(&*frame)) {
      cancel(*cancelled);
    } else if (is_engine_gone()) {
      engine_gone();
    } else {
      launch(std::get<LaunchFrame>(*frame));
    }
  }
}

bool Launcher::is_engine_gone() const {
  std::array<pollfd, 2> ends{pollfd{options_.socket.get(), POLLRDHUP, 0},
                             pollfd{options_.engine.get(), POLLIN, 0}};
  return ::poll(ends.data(), ends.size(), 0) > 0;
}

void Launcher::launch(const LaunchFrame& frame) {
  if (const int error = make_folder(frame.folder); error == EEXIST) {
    if (auto outcome = read_exit_record(frame.folder)) {
      say(EndedFrame{frame.id, *std::move(outcome)});
    } else {
      say(AbsentFrame{frame.id});
    }
    return;
  } else if (error != 0) {
    end_without_command(frame,
                        {.kind = OutcomeKind::failed,
                         .error = "cannot create the attempt's folder: " + error_text(error)});
    return;
  }
  if (!waiting_.empty() || !start(frame)) {
    waiting_.push_back(frame);
  }
}

/// Whether that is settled, well or not; false: the machine lacks something, wait and try again.
bool Launcher::start(const LaunchFrame& frame) {
  std::array<int, 2> pipe{-1, -1};
  const int pipe_error =
      has_descriptors_left() && ::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : EMFILE;
  UniqueFd output{pipe[0]};
  UniqueFd input{pipe[1]};
  const bool is_trusted = SystemClock{}.boot() < frame.trusted_until;
  Spawned spawned{.error = "not launched", .is_scarcity = true};
  if (pipe_error != 0) {
    spawned.error = start_fault(frame, pipe_error);
  } else if (is_trusted) {
    // The command's end waits when the pipe is full, as programs expect.
    ::fcntl(input.get(), F_SETFL, 0);
    spawned = spawn_command(frame, input.get(), options_.files);
  }
  if (spawned.pid < 0) {
    if (spawned.is_scarcity && is_trusted) {
      return false;
    }
    const OutcomeKind kind = spawned.is_scarcity ? OutcomeKind::not_launched : OutcomeKind::failed;
    end_without_command(frame, {.kind = kind, .error = std::move(spawned.error)});
    return true;
  }
  watch(output.get(), static_cast<std::uint64_t>(spawned.pid), EPOLLIN);
  commands_.emplace(spawned.pid, Command{.id = frame.id,
                                         .folder = frame.folder,
                                         .grace = frame.grace,
                                         .output = std::move(output),
                                         .log = LogWriter{frame.folder + "/log"}});
  pids_.emplace(frame.id.value, spawned.pid);
  say(RunningFrame{frame.id});
  return true;
}

/// Each command may need two, for its output and for its log, which is made when it writes first.
bool Launcher::has_descriptors_left() const {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return 2 * (commands_.size() + 1) + kOwnDescriptors <= files.rlim_cur;
}

/// In the order in which they came.
void Launcher::start_waiting() {
  while (!waiting_.empty() && start(waiting_.front())) {
    waiting_.pop_front();
  }
}

void Launcher::end_without_command(const LaunchFrame& frame, Outcome outcome) {
  write_exit_record(frame.folder, outcome);
  say(EndedFrame{frame.id, std::move(outcome)});
}

void Launcher::cancel(const CancelFrame& frame) {
  // What has ended by itself by now keeps its own outcome.
  reap();
  const auto waits = [&](const LaunchFrame& launch) { return launch.id == frame.id; };
  if (const auto found = std::ranges::find_if(waiting_, waits); found != waiting_.end()) {
    end_without_command(*found, cancelled_outcome(frame.reason));
    waiting_.erase(found);
    return;
  }
  const auto pid = pids_.find(frame.id.value);
  if (pid == pids_.end()) {
    return;
  }
  begin_end(commands_.find(pid->second), cancelled_outcome(frame.reason), frame.grace);
}

void Launcher::begin_end(Commands::iterator found, Outcome ending, Duration grace) {
  const pid_t pid = found->first;
  Command& command = found->second;
  if (!command.ending) {
    command.ending = std::move(ending);
    command.catches_term = catches_term(pid);
    ::kill(-pid, SIGTERM);
    ::kill(-pid, SIGCONT);
  }
  const Moment kill_at = std::chrono::steady_clock::now() + grace;
  if (command.kill_at && *command.kill_at <= kill_at) {
    return;
  }
  if (command.kill_at) {
    kills_.erase({*command.kill_at, pid});
  }
  command.kill_at = kill_at;
  kills_.emplace(kill_at, pid);
}

void Launcher::kill_overdue() {
  if (kills_.empty()) {
    return;
  }
  const Moment now = std::chrono::steady_clock::now();
  while (!kills_.empty() && kills_.begin()->first <= now) {
    ::kill(-kills_.begin()->second, SIGKILL);
    kills_.erase(kills_.begin());
  }
}

void Launcher::engine_gone() {
  if (is_ending_) {
    return;
  }
  is_ending_ = true;
  has_frames_ = false;
  reap();
  options_.socket.reset();
  options_.engine.reset();
  unsent_.clear();
  for (const LaunchFrame& frame : std::exchange(waiting_, {})) {
    end_without_command(frame, {.kind = OutcomeKind::not_launched, .error = "not launched"});
  }
  for (auto command = commands_.begin(); command != commands_.end(); ++command) {
    const Duration grace = std::min(command->second.grace, kEngineEndedGraceMax);
    begin_end(command, {.kind = OutcomeKind::lost, .error = "engine ended"}, grace);
  }
}

// --- how commands end ---

void Launcher::reap() {
  while (true) {
    siginfo_t ended{};
    // Looked at first and reaped later: while it is a zombie, no other group can have its number.
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) {
      return;
    }
    const auto command = commands_.find(ended.si_pid);
    if (command != commands_.end()) {
      finish(command);
    } else {
      ::waitpid(ended.si_pid, nullptr, 0);
    }
  }
}

void Launcher::finish(Commands::iterator found) {
  const pid_t pid = found->first;
  Command command = std::move(found->second);
  commands_.erase(found);
  pids_.erase(command.id.value);
  if (command.kill_at) {
    kills_.erase({*command.kill_at, pid});
  }
  ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  drain_output(command);
  Outcome outcome = outcome_of(status, command);
  if (const int error = write_exit_record(command.folder, outcome); error != 0) {
    std::fprintf(stderr, "stagecall-launcher: cannot write an exit record in %s: %s\n",
                 command.folder.c_str(), error_text(error).c_str());
  }
  say(EndedFrame{command.id, std::move(outcome)});
}

Outcome Launcher::outcome_of(int status, const Command& command) {
  Outcome outcome;
  if (WIFSIGNALED(status)) {
    outcome = ended_by_signal(WTERMSIG(status));
  } else if (const int code = WEXITSTATUS(status); code != 0) {
    outcome = {
        .kind = OutcomeKind::failed, .exit_code = code, .error = "exit " + std::to_string(code)};
  } else {
    outcome = {.kind = OutcomeKind::succeeded, .exit_code = 0};
  }
  // A handler of TERM may exit with 0 from half the work. Without one, TERM would have killed it:
  // its 0 was under way already, or it ignores TERM and has done all there was to do.
  const bool is_proof = outcome.kind == OutcomeKind::succeeded && !command.catches_term;
  if (command.ending && !is_proof) {
    outcome.kind = command.ending->kind;
    outcome.error = command.ending->error;
  }
  return outcome;
}

void Launcher::read_output(Command& command) {
  const ssize_t got = ::read(command.output.get(), chunk.data(), chunk.size());
  if (got > 0) {
    command.log.write({chunk.data(), static_cast<std::size_t>(got)});
  } else if (got == 0) {
    command.output.reset();  // closed by the command, which may well run on
  }
}

void Launcher::drain_output(Command& command) {
  // Bounded: what left the group may hold the pipe and write without end.
  for (std::size_t drained = 0; command.output && drained < kPipeBytesMax;) {
    const ssize_t got = ::read(command.output.get(), chunk.data(), chunk.size());
    if (got <= 0) {
      return;
    }
    command.log.write({chunk.data(), static_cast<std::size_t>(got)});
    drained += static_cast<std::size_t>(got);
  }
}

// --- what the engine is told ---

void Launcher::say(const LauncherFrame& frame) {
  if (!is_ending_) {
    append_frame(unsent_, frame);
  }
}

void Launcher::flush() {
  if (is_ending_ || unsent_.empty()) {
    return;
  }
  const ssize_t sent =
      ::send(options_.socket.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    engine_gone();
    return;
  }
  unsent_.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
  if (is_write_watched_ == unsent_.empty()) {
    is_write_watched_ = !unsent_.empty();
    watch(options_.socket.get(), kSocketTag,
          is_write_watched_ ? EPOLLIN | EPOLLOUT : static_cast<std::uint32_t>(EPOLLIN));
  }
}

}  // namespace stagecall
