#include "bench/apart.hpp"

#include "platform/scratch_folder.hpp"
#include "platform/unique_fd.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

namespace stagecall::bench {
namespace {

constexpr char kRefused = '!';  // begins the line of an error; its code follows as a letter

void say(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto written = ::write(fd, text.data() + at, text.size() - at);
    if (written <= 0) {
      return;
    }
    at += static_cast<std::size_t>(written);
  }
}

std::string refusal(const Error& error) {
  return std::string{kRefused, static_cast<char>('A' + static_cast<int>(error.code))} +
         error.message;
}

std::string measured_text(const Case& measure) {
  const auto folder = ScratchFolder::make();
  if (!folder) {
    return refusal(folder.error());
  }
  const auto measured = measure(folder->path());
  if (!measured) {
    return refusal(measured.error());
  }
  std::string text;
  for (const Measurement& each : *measured) {
    text += json_line(each) + '\n';
  }
  return text;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (auto size = ::read(fd, chunk.data(), chunk.size()); size > 0;
       size = ::read(fd, chunk.data(), chunk.size())) {
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  return text;
}

struct Answer {
  std::string text;
  int status = 0;
};

/// What the child writes, and how it ends.
Result<Answer> in_child(const std::function<void(int)>& child) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::internal, "no pipe to a process of its own");
  }
  const UniqueFd from{ends[0]};
  UniqueFd to{ends[1]};
  const pid_t pid = ::fork();
  if (pid == 0) {
    child(to.get());
    ::_exit(0);
  }
  to.reset();
  if (pid < 0) {
    return fail(ErrorCode::internal, "no process of its own to measure in");
  }
  Answer answer{.text = read_all(from.get())};
  ::waitpid(pid, &answer.status, 0);
  return answer;
}

Result<Answer> unless_refused(Result<Answer> answer) {
  if (answer && answer->text.size() >= 2 && answer->text.front() == kRefused) {
    return fail(static_cast<ErrorCode>(answer->text[1] - 'A'), answer->text.substr(2));
  }
  return answer;
}

}  // namespace

Measurements measure_apart(const Case& measure) {
  const auto answer =
      unless_refused(in_child([&measure](int to) { say(to, measured_text(measure)); }));
  if (!answer) {
    return tl::unexpected<Error>{answer.error()};
  }
  if (!WIFEXITED(answer->status) || WEXITSTATUS(answer->status) != 0) {
    return fail(ErrorCode::internal, "what was measured has crashed");
  }
  std::vector<Measurement> all;
  std::istringstream lines{answer->text};
  for (std::string line; std::getline(lines, line);) {
    auto measured = read_json_line(line);
    if (!measured) {
      return tl::unexpected<Error>{measured.error()};
    }
    all.push_back(*std::move(measured));
  }
  return all;
}

Result<void> do_and_die(const std::function<Result<std::shared_ptr<void>>()>& action) {
  const auto answer = unless_refused(in_child([&action](int to) {
    const auto held = action();
    if (!held) {
      say(to, refusal(held.error()));
    }
    ::_exit(0);  // while it is still held
  }));
  return answer.map([](const Answer&) {});
}

}  // namespace stagecall::bench
