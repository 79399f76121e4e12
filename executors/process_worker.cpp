#include "executors/process_worker.hpp"

#include "executors/attempt_files.hpp"
#include "executors/attempt_news.hpp"
#include "executors/attempt_path.hpp"
#include "executors/cancelled.hpp"
#include "executors/command_inputs.hpp"
#include "executors/launcher_lock.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stagecall {
namespace {

constexpr Duration kRestartDelayMin{100};
constexpr Duration kRestartDelayMax{5'000};
/// A launcher that lived so long did not die of its start.
constexpr Duration kProvenLife{10'000};
/// Given to a launcher without commands to exit by itself.
constexpr Duration kExitWait{500};

Result<void> ensure_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) {
    return {};
  }
  return fail(ErrorCode::executor_unavailable,
              "cannot create the folder \"" + path + "\": " + error_text(errno));
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Outcome rejected(std::string why) {
  return {.kind = OutcomeKind::rejected, .error = std::move(why)};
}

}  // namespace

ProcessWorker::ProcessWorker(ProcessExecutorOptions options, const Clock& clock, ReportSink& sink)
    : options_(std::move(options)), clock_(clock), sink_(sink), allowed_(allowed_environment()) {}

Result<void> ProcessWorker::start() {
  std::error_code error;
  options_.folder = std::filesystem::absolute(options_.folder, error).string();
  for (const char* part : {"", "/attempts", "/launchers"}) {
    if (auto made = ensure_folder(options_.folder + part); !made) {
      return made;
    }
  }
  sweep_launcher_locks(options_.folder);
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) {
    return fail(ErrorCode::executor_unavailable,
                "cannot create an eventfd for the process executor: " + error_text(errno));
  }
  auto launcher = LauncherProcess::start(options_.folder, options_.incarnation);
  if (!launcher) {
    return tl::unexpected<Error>{launcher.error()};
  }
  launcher_.emplace(*std::move(launcher));
  started_at_ = clock_.boot();
  thread_ = std::thread{[this] { run(); }};
  return {};
}

void ProcessWorker::ask(Request request) {
  const std::lock_guard lock{mutex_};
  if (is_closed_) {
    return;
  }
  requests_.push_back(std::move(request));
  if (requests_.size() == 1 && wake_) {
    ::eventfd_write(wake_.get(), 1);
  }
}

void ProcessWorker::close(Duration deadline) {
  if (thread_.joinable()) {
    ask(Close{deadline});
    thread_.join();
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    requests_.clear();
    wake_.reset();
  }
}

void ProcessWorker::run() {
  while (!close_at_ || (!open_.empty() && clock_.boot() < *close_at_)) {
    wait();
    take_requests();
    receive();
    restart_if_due();
    send();
    deliver();
  }
  finish_close();
}

void ProcessWorker::wait() {
  std::array<pollfd, 2> watched{pollfd{wake_.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  std::optional<Moment> until = close_at_;
  if (launcher_) {
    watched[1].fd = launcher_->socket();
    watched[1].events = static_cast<short>(sent_ < unsent_.size() ? POLLIN | POLLOUT : POLLIN);
  } else if (!close_at_) {
    until = restart_at_;
  }
  int limit = -1;
  if (until) {
    const auto left = std::chrono::ceil<Duration>(*until - clock_.boot()).count();
    limit = static_cast<int>(std::clamp<Duration::rep>(left, 0, 3'600'000));
  }
  ::poll(watched.data(), watched.size(), limit);
}

void ProcessWorker::take_requests() {
  std::vector<Request> requests;
  {
    const std::lock_guard lock{mutex_};
    if (requests_.empty()) {
      return;
    }
    requests.swap(requests_);
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
  }
  for (Request& request : requests) {
    std::visit([this](auto& each) { handle(std::move(each)); }, request);
  }
}

void ProcessWorker::finish_close() {
  if (launcher_) {
    launcher_->finish(open_.empty() ? kExitWait : Duration{0});
    launcher_.reset();
  }
  settle_open();
  deliver();
  sweep_launcher_locks(options_.folder);
}

// --- requests ---

void ProcessWorker::handle(std::vector<Launch>&& launches) {
  for (const Launch& each : launches) {
    launch(each);
  }
}

void ProcessWorker::launch(const Launch& launch) {
  if (acknowledged_.has(launch.key)) {
    return;
  }
  const auto [entry, is_new] = entries_.try_emplace(launch.key);
  if (!is_new) {
    return;
  }
  const std::string folder = folder_of(launch.key);
  auto outcome = reason_against(launch);
  if (!outcome) {
    outcome = provide_inputs(launch, folder);
  }
  if (outcome) {
    settle(entry->first, SaysEnded{*std::move(outcome)});
    return;
  }
  const std::size_t before = unsent_.size();
  entry->second.id = LaunchId{++last_id_};
  append_frame(unsent_, LaunchFrame{.id = entry->second.id,
                                    .folder = folder,
                                    .argv = std::get<CommandAction>(launch.node->action).argv,
                                    .env = command_environment(allowed_, launch, folder),
                                    .cwd = launch.node->cwd,
                                    .trusted_until = launch.trusted_until,
                                    .grace = launch.node->grace});
  if (unsent_.size() - before > kFrameBytesMax) {
    unsent_.resize(before);
    ::unlink(inputs_path(folder).c_str());
    settle(entry->first, SaysEnded{rejected("the command's arguments and environment are larger "
                                            "than 64 MiB")});
    return;
  }
  entry->second.has_folder = true;
  open_.emplace(entry->second.id.value, &entry->first);
}

std::optional<Outcome> ProcessWorker::reason_against(const Launch& launch) const {
  if (cancelled_early_.has(launch.key)) {
    return cancelled_outcome(CancelReason::stop);
  }
  if (close_at_ || launch.trusted_until <= clock_.boot()) {
    return Outcome{.kind = OutcomeKind::not_launched, .error = "not launched"};
  }
  const auto* command = std::get_if<CommandAction>(&launch.node->action);
  if (command == nullptr || command->executor != CommandExecutor::process) {
    return rejected("not a command of the process executor");
  }
  if (command->argv.empty()) {
    return rejected("the command names no program");
  }
  if (std::ranges::any_of(command->argv, has_nul) || has_nul(launch.node->cwd)) {
    return rejected("an argument or the cwd of the command holds a NUL byte");
  }
  const bool is_bad_env = std::ranges::any_of(launch.node->env, [](const auto& variable) {
    const auto& [name, value] = variable;
    return name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value);
  });
  if (is_bad_env) {
    return rejected(
        "a variable of the command's env is empty or holds \"=\" in its name, or a "
        "NUL byte");
  }
  return std::nullopt;
}

void ProcessWorker::handle(std::vector<Cancel>&& cancels) {
  for (const Cancel& each : cancels) {
    const auto entry = entries_.find(each.key);
    if (entry == entries_.end()) {
      cancelled_early_.add(each.key);
    } else if (open_.contains(entry->second.id.value)) {
      append_frame(unsent_, CancelFrame{entry->second.id, each.reason, each.grace});
    }
  }
}

void ProcessWorker::handle(std::vector<AttemptQuery>&& queries) {
  for (const AttemptQuery& each : queries) {
    tell(each.key, news_of(each));
  }
}

AttemptNews ProcessWorker::news_of(const AttemptQuery& query) const {
  const auto entry = entries_.find(query.key);
  if (entry == entries_.end()) {
    return query.incarnation == options_.incarnation ? AttemptNews{SaysAbsent{}}
                                                     : news_of_incarnation(options_.folder, query);
  }
  switch (entry->second.stage) {
    case Stage::handed:
    case Stage::running: return SaysAlive{};
    case Stage::ended: return entry->second.end;
    case Stage::absent: return entry->second.absence;
  }
  return SaysUnknown{};
}

void ProcessWorker::handle(std::vector<AttemptKey>&& acknowledged) {
  for (const AttemptKey& key : acknowledged) {
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) {
      remove_attempt(folder_of(key));
      continue;
    }
    if (open_.contains(entry->second.id.value)) {
      continue;
    }
    if (entry->second.has_folder) {
      remove_attempt(folder_of(key));
    }
    acknowledged_.add(key);
    entries_.erase(entry);
  }
}

void ProcessWorker::handle(Close&& request) {
  close_at_ = clock_.boot() + request.deadline;
  if (!launcher_) {
    settle_open();
    return;
  }
  // The last quarter is for the ends of those that had to be killed.
  for (const auto& [id, key] : open_) {
    append_frame(unsent_, CancelFrame{LaunchId{id}, CancelReason::drain, request.deadline * 3 / 4});
  }
}

std::string ProcessWorker::folder_of(const AttemptKey& key) const {
  return attempt_folder(options_.folder, key);
}

// --- the launcher ---

void ProcessWorker::send() {
  while (launcher_ && sent_ < unsent_.size()) {
    const ssize_t sent = ::send(launcher_->socket(), unsent_.data() + sent_, unsent_.size() - sent_,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) {
      return;  // full; or broken, and then receive() finds it closed
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  if (launcher_) {
    unsent_.clear();
    sent_ = 0;
  }
}

void ProcessWorker::receive() {
  while (launcher_) {
    const FrameReader::Fill fill = reader_.fill(launcher_->socket());
    if (fill == FrameReader::Fill::nothing) {
      return;
    }
    bool is_readable = fill == FrameReader::Fill::read;
    while (const auto body = reader_.next()) {
      const auto frame = parse_launcher_frame(*body);
      if (!frame) {
        is_readable = false;
        break;
      }
      hear(*frame);
    }
    if (!is_readable || reader_.is_broken()) {
      launcher_died();
    }
  }
}

void ProcessWorker::hear(const LauncherFrame& frame) {
  const LaunchId id = std::visit([](const auto& each) { return each.id; }, frame);
  const auto open = open_.find(id.value);
  if (open == open_.end()) {
    return;
  }
  const AttemptKey& key = *open->second;
  if (const auto* ended = std::get_if<EndedFrame>(&frame)) {
    settle(key, ended_with_output(folder_of(key), ended->outcome));
  } else if (std::holds_alternative<AbsentFrame>(frame)) {
    settle(key, SaysAbsent{});
  } else {
    entries_.at(key).stage = Stage::running;
    tell(key, SaysRunning{});
  }
}

void ProcessWorker::launcher_died() {
  const bool was_proven = clock_.boot() - started_at_ > kProvenLife;
  restart_delay_ = was_proven ? kRestartDelayMin
                              : std::clamp(restart_delay_ * 2, kRestartDelayMin, kRestartDelayMax);
  restart_at_ = clock_.boot() + restart_delay_;
  // Its commands go with it; only then their attempts are absent.
  launcher_.reset();
  reader_ = {};
  unsent_.clear();
  sent_ = 0;
  settle_open();
}

void ProcessWorker::restart_if_due() {
  if (launcher_ || close_at_ || clock_.boot() < restart_at_) {
    return;
  }
  started_at_ = clock_.boot();
  auto launcher = LauncherProcess::start(options_.folder, options_.incarnation);
  if (launcher) {
    launcher_.emplace(*std::move(launcher));
  } else {
    restart_delay_ = std::clamp(restart_delay_ * 2, kRestartDelayMin, kRestartDelayMax);
    restart_at_ = started_at_ + restart_delay_;
  }
}

/// The launcher is dead: what it has not told is told by the files.
void ProcessWorker::settle_open() {
  while (!open_.empty()) {
    const AttemptKey& key = *open_.begin()->second;
    AttemptNews news = news_without_launcher(folder_of(key));
    settle(key, std::holds_alternative<SaysUnknown>(news) ? SaysAbsent{} : std::move(news));
  }
}

/// SaysEnded or SaysAbsent: nothing more will come of the attempt.
void ProcessWorker::settle(const AttemptKey& key, AttemptNews news) {
  Entry& entry = entries_.at(key);
  open_.erase(entry.id.value);
  if (const auto* ended = std::get_if<SaysEnded>(&news)) {
    entry.stage = Stage::ended;
    entry.end = *ended;
  } else {
    entry.stage = Stage::absent;
    entry.absence = std::get<SaysAbsent>(news);
  }
  tell(key, std::move(news));
}

void ProcessWorker::tell(const AttemptKey& key, AttemptNews news) {
  reports_.push_back({key, std::move(news)});
}

void ProcessWorker::deliver() {
  if (!reports_.empty()) {
    sink_.report(std::exchange(reports_, {}));
  }
}

}  // namespace stagecall
