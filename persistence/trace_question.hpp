// What is asked of a live process about its trace, and its answer, as one line each for the control
// socket. Knows the words only: who answers, and how, is none of its business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecall {

enum class TraceWish : std::uint8_t { look, start, stop };

struct TraceQuestion {
  TraceWish wish = TraceWish::look;
  std::string incarnation{};         ///< whom it is for; empty: for all
  std::string file{};                ///< of start: an absolute path
  std::vector<std::string> kinds{};  ///< of start; as of TraceOptions
  std::vector<std::string> runs{};   ///< of start: `pipeline/iteration`
  friend bool operator==(const TraceQuestion&, const TraceQuestion&) = default;
};

struct TraceAnswer {
  std::string replica;
  std::int64_t pid = 0;
  std::string incarnation;
  std::string place{};    ///< where its trace goes, or went until now; empty: it had none
  std::string refusal{};  ///< why it does not do that; empty: it has
  friend bool operator==(const TraceAnswer&, const TraceAnswer&) = default;
};

std::string line_of(const TraceQuestion& question);
std::string line_of(const TraceAnswer& answer);

/// None: the line is something else.
std::optional<TraceQuestion> read_trace_question(const std::string& line);
std::optional<TraceAnswer> read_trace_answer(const std::string& line);

}  // namespace stagecall
