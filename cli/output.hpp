// Where words go: stdout gets the answer (with --json exactly one JSON value, or one a line),
// stderr what is meant for people. Texts of users are escaped before a terminal sees them.
#pragma once

#include "stagecall/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace stagecall::cli {

using Json = nlohmann::ordered_json;

/// Control characters, invisible reorderings and bytes that are not UTF-8 as `\x1b` or `\u202e`.
std::string escaped(std::string_view text);

/// `12.3s`, `4m07s`, `2h05m`.
std::string seconds_text(double seconds);

enum class Colour { plain, good, bad };

class Output {
 public:
  Output(bool json, bool quiet);

  bool is_json() const { return json_; }
  bool is_quiet() const { return quiet_; }
  /// Somebody watches: progress may be drawn over itself.
  bool is_watched() const { return !quiet_ && !json_ && stderr_is_terminal_; }

  /// A JSON value on one line of stdout; what is not UTF-8 is replaced.
  void value(const Json& value);
  /// A line of the answer for people.
  void line(std::string_view text);
  /// Bytes as they are, to stdout.
  void bytes(std::string_view bytes);
  /// A line beside the answer, for people; --quiet leaves it out.
  void note(std::string_view text);
  /// A line that --quiet does not leave out.
  void complaint(std::string_view text);
  /// An error, in the form asked for. `file`: the input that its problems are about.
  void error(const Error& error, const std::string& file);
  /// What follows stands alone, where stdout is a terminal.
  void clear_screen();
  /// Draws the line over the one before it.
  void progress(std::string_view text);
  void end_progress();
  /// Whether all of stdout was taken.
  bool flush();

  /// For stdout (answers) and for stderr (notes), each only where it is a terminal.
  std::string coloured(std::string_view text, Colour colour) const;
  std::string coloured_note(std::string_view text, Colour colour) const;

 private:
  bool json_;
  bool quiet_;
  bool stderr_is_terminal_;
  bool colours_answers_;
  bool colours_notes_;
  bool progress_shown_ = false;
};

}  // namespace stagecall::cli
