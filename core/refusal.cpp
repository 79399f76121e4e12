#include "core/refusal.hpp"

#include "core/utf8.hpp"
#include "messages/limits.hpp"

#include <utility>

namespace stagecall {

std::string excerpt(std::string_view text) {
  const std::size_t bytes_max = kLimits.problem_value_bytes_max;
  // Four bytes more than are kept: a sequence that straddles the cut is judged whole.
  std::string_view rest = text.substr(0, bytes_max + 4);
  std::string valid;
  while (const auto bad = find_invalid_utf8(rest)) {
    valid.append(rest.substr(0, *bad)).append("\xEF\xBF\xBD");
    rest.remove_prefix(*bad + 1);
  }
  valid.append(rest);
  valid.resize(cut_utf8(valid, bytes_max).size());
  return valid;
}

std::string quoted(std::string_view text) {
  const bool is_cut = text.size() > kLimits.problem_value_bytes_max;
  return '"' + excerpt(text) + (is_cut ? "\"…" : "\"");
}

Error refused_pipeline(std::vector<Problem> problems, std::vector<std::string> cycle) {
  std::string message = "pipeline refused";
  if (problems.size() > 1) {
    message += " for " + std::to_string(problems.size()) +
               (problems.size() < kLimits.problems_max ? " problems" : " problems or more") +
               ", the first";
  }
  if (!problems.empty()) {
    const Problem& first = problems.front();
    message += ": " + (first.where.empty() ? "" : first.where + ": ") + first.message;
  }
  return {.code = ErrorCode::invalid_pipeline,
          .message = std::move(message),
          .problems = std::move(problems),
          .cycle = std::move(cycle)};
}

}  // namespace stagecall
