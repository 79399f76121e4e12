#include "executors/launcher_process.hpp"

#include "executors/attempt_files.hpp"
#include "executors/launcher_lock.hpp"
#include "executors/pidfd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

// launcher_image.S
extern "C" const char stagecall_launcher_image[];
extern "C" const char stagecall_launcher_image_end[];

namespace stagecall {
namespace {

/// Above what posix_spawn's steps write to.
constexpr int kLowestFd = 10;
/// MFD_EXEC; kernels before 6.3 refuse it and need it not.
constexpr unsigned kMemoryFileExecutable = 0x10U;
/// Killed, it exits at once unless the kernel holds it; then nobody waits for it.
constexpr int kKillWaitMilliseconds = 1'000;

tl::unexpected<Error> fail_start(const std::string& step, int error) {
  return fail(ErrorCode::executor_unavailable,
              "cannot start the launcher of commands: " + step + ": " + error_text(error));
}

UniqueFd lift(UniqueFd fd) {
  return UniqueFd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, kLowestFd)};
}

Result<UniqueFd> make_image() {
  UniqueFd file{::memfd_create("stagecall-launcher", MFD_CLOEXEC | kMemoryFileExecutable)};
  if (!file) {
    file.reset(::memfd_create("stagecall-launcher", MFD_CLOEXEC));
  }
  if (!file) {
    return fail_start("memfd_create", errno);
  }
  std::string_view rest{
      stagecall_launcher_image,
      static_cast<std::size_t>(stagecall_launcher_image_end - stagecall_launcher_image)};
  while (!rest.empty()) {
    const ssize_t put = ::write(file.get(), rest.data(), rest.size());
    if (put <= 0) {
      return fail_start("writing its image", errno);
    }
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  return lift(std::move(file));
}

/// The steps and attributes of posix_spawn; released on every exit.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan(int socket, int lock) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, socket, 3);
    ::posix_spawn_file_actions_adddup2(&actions, lock, 4);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_init(&attributes);
    // Blocked from its first moment: it lives until its commands have ended, whoever asks.
    ::posix_spawnattr_setsigmask(&attributes, &all);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

/// Kills every process of the session but its leader. True: there was one.
bool kill_session(pid_t session) {
  bool found = false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", ignored}) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || *end != '\0' || pid == session || ::getsid(pid) != session) {
      continue;
    }
    // Held first and looked at again: the number cannot go to another process in between.
    const UniqueFd handle = open_process(pid);
    if (handle && ::getsid(pid) == session) {
      found = send_signal(handle, SIGKILL) || found;
    }
  }
  return found;
}

}  // namespace

Result<LauncherProcess> LauncherProcess::start(const std::string& folder,
                                               const std::string& incarnation) {
  auto lock = take_launcher_lock(folder, incarnation);
  if (!lock) {
    return tl::unexpected<Error>{lock.error()};
  }
  auto image = make_image();
  if (!image) {
    return tl::unexpected<Error>{image.error()};
  }
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_start("socketpair", errno);
  }
  UniqueFd ours{ends[0]};
  const UniqueFd theirs = lift(UniqueFd{ends[1]});
  const UniqueFd theirs_lock = lift(*std::move(lock));
  if (!*image || !theirs || !theirs_lock) {
    return fail_start("descriptors", errno);
  }
  const SpawnPlan plan{theirs.get(), theirs_lock.get()};
  const std::string path = "/proc/self/fd/" + std::to_string(image->get());
  std::string name = "stagecall-launcher";
  std::string engine = std::to_string(::getpid());
  std::array<char*, 3> argv{name.data(), engine.data(), nullptr};
  pid_t pid = -1;
  if (const int error =
          ::posix_spawn(&pid, path.c_str(), &plan.actions, &plan.attributes, argv.data(), environ);
      error != 0) {
    return fail_start("posix_spawn", error);
  }
  return LauncherProcess{pid, open_process(pid), std::move(ours)};
}

LauncherProcess::~LauncherProcess() {
  kill();
}

void LauncherProcess::finish(Duration wait) {
  if (!handle_) {
    return;
  }
  ::shutdown(socket_.get(), SHUT_WR);
  pollfd exited{handle_.get(), POLLIN, 0};
  if (::poll(&exited, 1, static_cast<int>(std::max<Duration::rep>(0, wait.count()))) > 0) {
    // A host that ignores SIGCHLD, or waits for all children, has reaped it already.
    ::waitid(P_PIDFD, static_cast<id_t>(handle_.get()), nullptr, WEXITED);
    handle_.reset();
  }
}

void LauncherProcess::kill() {
  if (!handle_) {
    return;
  }
  send_signal(handle_, SIGKILL);
  pollfd exited{handle_.get(), POLLIN, 0};
  ::poll(&exited, 1, kKillWaitMilliseconds);
  // Until it is reaped its number, which is its session's, stays its own. Rounds: a process may
  // have been forked while /proc was read.
  for (int rounds = 0; rounds < 100 && kill_session(pid_); ++rounds) {}
  ::waitid(P_PIDFD, static_cast<id_t>(handle_.get()), nullptr, WEXITED | WNOHANG);
  handle_.reset();
}

}  // namespace stagecall
