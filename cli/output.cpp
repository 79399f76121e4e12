#include "cli/output.hpp"

#include "cli/run_json.hpp"
#include "core/utf8.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace stagecall::cli {
namespace {

void write_line(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fputc('\n', stream);
}

std::string in_colour(std::string_view text, Colour colour) {
  const char* code = colour == Colour::good ? "\x1b[32m" : "\x1b[31m";
  return colour == Colour::plain ? std::string{text} : code + std::string{text} + "\x1b[0m";
}

/// Length of the sequence that begins here, which is valid.
std::size_t sequence_size(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

std::uint32_t code_point(std::string_view sequence) {
  std::uint32_t point = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() > 1) {
    point &= 0xffU >> (sequence.size() + 1);
  }
  for (const char byte : sequence.substr(1)) {
    point = (point << 6) | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return point;
}

/// Controls of terminals, and characters that reorder or hide what stands around them.
bool is_treacherous(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x2069) ||
         point == 0xfeff;
}

void append_escape(std::string& out, std::uint32_t point) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), point < 0x100 ? "\\x%02x" : "\\u%04x", point);
  out += text.data();
}

void append_escaped_valid(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto sequence = text.substr(0, sequence_size(static_cast<unsigned char>(text[0])));
    const std::uint32_t point = code_point(sequence);
    if (is_treacherous(point)) {
      append_escape(out, point);
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (const auto bad = find_invalid_utf8(text)) {
    append_escaped_valid(out, text.substr(0, *bad));
    append_escape(out, static_cast<unsigned char>(text[*bad]));
    text.remove_prefix(*bad + 1);
  }
  append_escaped_valid(out, text);
  return out;
}

std::string seconds_text(double seconds) {
  std::array<char, 48> text{};
  const auto whole = static_cast<long long>(seconds);
  if (seconds < 60) {
    std::snprintf(text.data(), text.size(), "%.1fs", std::floor(seconds * 10) / 10);
  } else if (whole < 3600) {
    std::snprintf(text.data(), text.size(), "%lldm%02llds", whole / 60, whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lldh%02lldm", whole / 3600, whole / 60 % 60);
  }
  return text.data();
}

Output::Output(bool json, bool quiet)
    : json_(json), quiet_(quiet), stderr_is_terminal_(::isatty(STDERR_FILENO) == 1) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool may_colour = no_colour == nullptr || *no_colour == '\0';
  colours_answers_ = may_colour && !json && ::isatty(STDOUT_FILENO) == 1;
  colours_notes_ = may_colour && stderr_is_terminal_;
}

void Output::value(const Json& value) {
  write_line(stdout, value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Output::line(std::string_view text) {
  write_line(stdout, text);
}

void Output::bytes(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

void Output::note(std::string_view text) {
  if (!quiet_) {
    complaint(text);
  }
}

void Output::complaint(std::string_view text) {
  end_progress();
  write_line(stderr, text);
}

void Output::error(const Error& error, const std::string& file) {
  if (json_) {
    value(error_json(error));
    return;
  }
  end_progress();
  const std::string label = coloured_note("stagecall:", Colour::bad) + " ";
  if (error.problems.empty()) {
    write_line(stderr, label + escaped(error.message));
    return;
  }
  write_line(stderr, label + escaped(file) + " is refused, nothing was stored");
  for (const Problem& problem : error.problems) {
    const std::string where = problem.where.empty() ? "" : problem.where + ": ";
    const std::string shown = problem.value.empty() ? "" : " (" + problem.value + ")";
    write_line(stderr, escaped(file + ": " + where + problem.message + shown));
  }
}

void Output::progress(std::string_view text) {
  const std::string drawn = "\r\x1b[K" + std::string{text};
  std::fwrite(drawn.data(), 1, drawn.size(), stderr);
  progress_shown_ = true;
}

void Output::end_progress() {
  if (progress_shown_) {
    std::fputs("\r\x1b[K", stderr);
    progress_shown_ = false;
  }
}

void Output::clear_screen() {
  if (!json_ && ::isatty(STDOUT_FILENO) == 1) {
    bytes("\x1b[H\x1b[2J");
  }
}

bool Output::flush() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

std::string Output::coloured(std::string_view text, Colour colour) const {
  return in_colour(text, colours_answers_ ? colour : Colour::plain);
}

std::string Output::coloured_note(std::string_view text, Colour colour) const {
  return in_colour(text, colours_notes_ ? colour : Colour::plain);
}

}  // namespace stagecall::cli
