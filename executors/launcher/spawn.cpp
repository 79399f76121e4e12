#include "executors/launcher/spawn.hpp"

#include "executors/attempt_files.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

namespace stagecall {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::size_t kNameBytesMax = 255;

enum class Step : std::uint8_t { prepare, enter, start };

/// Everything the child needs, made before it exists: it shares this process's memory and must not
/// allocate. It leaves its fault here.
struct ChildPlan {
  std::vector<std::string> candidates;  ///< paths of the program, in the order of PATH
  std::vector<char*> argv;
  std::vector<char*> env;
  const char* cwd = nullptr;
  int output = -1;
  const rlimit* files = nullptr;
  Step step = Step::prepare;
  int error = 0;
};

std::string_view path_of(const std::vector<std::string>& env) {
  for (const std::string& each : env) {
    if (each.starts_with("PATH=")) {
      return std::string_view{each}.substr(5);
    }
  }
  return kDefaultPath;
}

/// As execvp looks a program up: a name with a slash is a path, an empty part of PATH the cwd.
std::vector<std::string> candidates_for(const std::string& program, std::string_view path) {
  if (program.empty() || program.find('/') != std::string::npos) {
    return {program};
  }
  std::vector<std::string> found;
  while (true) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    found.push_back(folder.empty() ? program : std::string{folder} + "/" + program);
    if (colon == std::string_view::npos) {
      return found;
    }
    path.remove_prefix(colon + 1);
  }
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Tries each candidate; returns only on failure, with the error that says most.
int execute(const ChildPlan& plan) {
  bool was_denied = false;
  int error = ENOENT;
  for (const std::string& candidate : plan.candidates) {
    ::execve(candidate.c_str(), plan.argv.data(), plan.env.data());
    error = errno;
    was_denied = was_denied || error == EACCES;
    if (error != EACCES && error != ENOENT && error != ENOTDIR) {
      return error;
    }
  }
  return was_denied ? EACCES : error;
}

/// Runs in the child, in the launcher's memory, while the launcher waits.
int child_main(void* raw) {
  auto& plan = *static_cast<ChildPlan*>(raw);
  sigset_t none;
  ::sigemptyset(&none);
  // A launcher killed by force takes its commands along; what they started, the engine ends.
  const bool is_ready = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::setpgid(0, 0) == 0 &&
                        ::dup2(plan.output, 1) == 1 && ::dup2(plan.output, 2) == 2 &&
                        ::close_range(3, ~0U, 0) == 0 &&
                        ::setrlimit(RLIMIT_NOFILE, plan.files) == 0;
  if (is_ready) {
    plan.step = Step::enter;
    if (plan.cwd == nullptr || ::chdir(plan.cwd) == 0) {
      plan.step = Step::start;
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      errno = execute(plan);
    }
  }
  plan.error = errno;
  return 127;
}

/// For messages: a name of any length and content, cut before a character.
std::string quoted(const std::string& name) {
  std::size_t size = name.size();
  if (size > kNameBytesMax) {
    size = kNameBytesMax;
    while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xC0U) == 0x80U) {
      --size;
    }
  }
  std::string text{'"'};
  text.append(name, 0, size);
  text.append(size < name.size() ? "…\"" : "\"");
  return text;
}

Spawned fault_of(const LaunchFrame& launch, Step step, int error) {
  return {.error = step == Step::enter
                       ? "cannot enter " + quoted(launch.cwd) + ": " + error_text(error)
                       : start_fault(launch, error),
          .is_scarcity = is_scarcity(error)};
}

}  // namespace

bool is_scarcity(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM ||
         error_number == EAGAIN;
}

std::string start_fault(const LaunchFrame& launch, int error_number) {
  return "cannot start " + quoted(launch.argv.front()) + ": " + error_text(error_number);
}

Spawned spawn_command(const LaunchFrame& launch, int output, const rlimit& files) {
  alignas(16) static std::array<char, std::size_t{64} << 10> stack;
  ChildPlan plan{.candidates = candidates_for(launch.argv.front(), path_of(launch.env)),
                 .argv = pointers_to(launch.argv),
                 .env = pointers_to(launch.env),
                 .cwd = launch.cwd.empty() ? nullptr : launch.cwd.c_str(),
                 .output = output,
                 .files = &files};
  // Not fork: its cost would grow with this process; not posix_spawn: it does not tell a missing
  // cwd from a missing program.
  const pid_t pid =
      ::clone(child_main, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  if (pid < 0) {
    return fault_of(launch, Step::prepare, errno);
  }
  if (plan.error != 0) {
    ::waitpid(pid, nullptr, 0);
    return fault_of(launch, plan.step, plan.error);
  }
  return {.pid = pid};
}

}  // namespace stagecall
