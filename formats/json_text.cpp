#include "formats/json_text.hpp"

#include "core/utf8.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace stagecall {
namespace {

/// Recursion is bounded: a document is at most Limits::depth_max deep.
class TextWriter {
 public:
  explicit TextWriter(std::size_t bytes_wanted) : bytes_wanted_(bytes_wanted) {}

  void write(JsonValue value) {
    switch (value.kind()) {
      case JsonKind::null: text_ += "null"; return;
      case JsonKind::boolean: text_ += value.boolean() ? "true" : "false"; return;
      case JsonKind::integer: text_ += std::to_string(value.integer()); return;
      case JsonKind::real: text_ += value.text(); return;
      case JsonKind::string: write_string(value.text()); return;
      case JsonKind::array: write_array(value); return;
      case JsonKind::object: write_object(value); return;
    }
  }

  std::string take() && { return std::move(text_); }

 private:
  bool is_enough() const { return text_.size() > bytes_wanted_; }

  void write_string(std::string_view text) {
    append_json_string(text_, cut_utf8(text, bytes_wanted_));
  }

  void write_array(JsonValue array) {
    char before = '[';
    for (const JsonValue element : array.elements()) {
      if (is_enough()) {
        return;
      }
      text_ += before;
      write(element);
      before = ',';
    }
    text_ += before == '[' ? "[]" : "]";
  }

  void write_object(JsonValue object) {
    char before = '{';
    for (const JsonMember member : object.members()) {
      if (is_enough()) {
        return;
      }
      text_ += before;
      write_string(member.name);
      text_ += ':';
      write(member.value);
      before = ',';
    }
    text_ += before == '{' ? "{}" : "}";
  }

  std::size_t bytes_wanted_;
  std::string text_;
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHexDigits[byte >> 4U];
      out += kHexDigits[byte & 0xFU];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json_number(std::string& out, double number) {
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), written.ptr);
}

std::string json_text(JsonValue value, std::size_t bytes_wanted) {
  TextWriter writer{bytes_wanted};
  writer.write(value);
  return std::move(writer).take();
}

}  // namespace stagecall
