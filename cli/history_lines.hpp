// History event by event: the lines of `history`.
#pragma once

#include "core/definition.hpp"
#include "messages/events.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace stagecall::cli {

/// Takes the events of one run in stored order.
class HistoryLines {
 public:
  /// The definition must outlive it.
  explicit HistoryLines(const Definition& definition) : definition_(definition) {}

  /// {"seq","at","kind","node"?,"attempt"?,"term","replica"?,…}; the rest is the event's own.
  nlohmann::ordered_json take(const Pass& pass, const Event& event);

 private:
  const Definition& definition_;
  std::string replica_;  // of the term that was opened last
};

/// The same line for people.
std::string history_text(const nlohmann::ordered_json& line);

}  // namespace stagecall::cli
