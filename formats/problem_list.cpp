#include "formats/problem_list.hpp"

#include "core/refusal.hpp"
#include "formats/json_text.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <utility>

namespace stagecall {

void ProblemList::add(JsonValue value, std::string message) {
  std::string shown = value.is(JsonKind::string)
                          ? excerpt(value.text())
                          : excerpt(json_text(value, kLimits.problem_value_bytes_max));
  insert({value.position(), {"", std::move(shown), std::move(message)}});
}

void ProblemList::add_about(JsonValue value, std::string message) {
  insert({value.position(), {"", "", std::move(message)}});
}

void ProblemList::add_at_byte(std::size_t byte, std::string value, std::string message,
                              const JsonDocument& document) {
  insert({document.next_position(),
          {"byte " + std::to_string(byte), std::move(value), std::move(message)}});
}

void ProblemList::add_at_position(std::uint32_t position, std::string value, std::string message) {
  insert({position, {"", std::move(value), std::move(message)}});
}

void ProblemList::merge(Error error, const JsonDocument& document) {
  for (Problem& problem : error.problems) {
    const auto value = document.find(problem.where);
    const std::uint32_t position = value ? value->position() : document.next_position();
    insert({position, std::move(problem)});
  }
  cycle_ = std::move(error.cycle);
}

Error ProblemList::error(const JsonDocument& document) && {
  keep_first();
  std::vector<Problem> problems;
  problems.reserve(entries_.size());
  for (Entry& entry : entries_) {
    if (entry.problem.where.empty() && !document.is_empty()) {
      entry.problem.where = document.pointer(entry.position);
    }
    problems.push_back(std::move(entry.problem));
  }
  return refused_pipeline(std::move(problems), std::move(cycle_));
}

void ProblemList::insert(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() >= 2 * kLimits.problems_max) {
    keep_first();
  }
}

void ProblemList::keep_first() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.position < b.position; });
  if (entries_.size() > kLimits.problems_max) {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(kLimits.problems_max),
                   entries_.end());
  }
}

}  // namespace stagecall
