#include "persistence/trace_question.hpp"

#include "persistence/percent.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace stagecall {
namespace {

constexpr std::array<std::string_view, 3> kWishes{"look", "start", "stop"};
constexpr std::string_view kKind = "kind=";
constexpr std::string_view kRun = "run=";

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) {
      line += ' ';
    }
    line += percent_encoded(word);
  }
  return line;
}

/// None: one of them is not encoded as it should be.
std::optional<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const auto blank = line.find(' ');
    auto word = percent_decoded(line.substr(0, blank));
    if (!word) {
      return std::nullopt;
    }
    words.push_back(*std::move(word));
    if (blank == std::string_view::npos) {
      return words;
    }
    line.remove_prefix(blank + 1);
  }
}

std::optional<TraceWish> wish_of(const std::string& word) {
  for (std::size_t i = 0; i < kWishes.size(); ++i) {
    if (word == kWishes[i]) {
      return static_cast<TraceWish>(i);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string line_of(const TraceQuestion& question) {
  std::vector<std::string> words{"trace",
                                 std::string{kWishes[static_cast<std::size_t>(question.wish)]},
                                 question.incarnation, question.file};
  for (const std::string& kind : question.kinds) {
    words.push_back(std::string{kKind} + kind);
  }
  for (const std::string& run : question.runs) {
    words.push_back(std::string{kRun} + run);
  }
  return joined(words);
}

std::string line_of(const TraceAnswer& answer) {
  return joined({"traced", answer.replica, std::to_string(answer.pid), answer.incarnation,
                 answer.place, answer.refusal});
}

std::optional<TraceQuestion> read_trace_question(const std::string& line) {
  const auto words = words_of(line);
  if (!words || words->size() < 4 || words->front() != "trace") {
    return std::nullopt;
  }
  const auto wish = wish_of((*words)[1]);
  if (!wish) {
    return std::nullopt;
  }
  TraceQuestion question{.wish = *wish, .incarnation = (*words)[2], .file = (*words)[3]};
  for (std::size_t i = 4; i < words->size(); ++i) {
    const std::string& word = (*words)[i];
    if (word.starts_with(kKind)) {
      question.kinds.push_back(word.substr(kKind.size()));
    } else if (word.starts_with(kRun)) {
      question.runs.push_back(word.substr(kRun.size()));
    } else {
      return std::nullopt;
    }
  }
  return question;
}

std::optional<TraceAnswer> read_trace_answer(const std::string& line) {
  const auto words = words_of(line);
  if (!words || words->size() != 6 || words->front() != "traced") {
    return std::nullopt;
  }
  const std::string& digits = (*words)[2];
  std::int64_t pid = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return TraceAnswer{(*words)[1], pid, (*words)[3], (*words)[4], (*words)[5]};
}

}  // namespace stagecall
