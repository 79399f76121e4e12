#include "formats/field_reader.hpp"

#include "core/duration.hpp"
#include "formats/json_text.hpp"
#include "formats/pipeline_file.hpp"
#include "messages/limits.hpp"

#include <charconv>
#include <utility>

namespace stagecall {
namespace {

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 =  // U+0080 … U+009F
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || is_c1) {
      return true;
    }
  }
  return false;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

std::string number_text(double number) {
  std::string text;
  append_json_number(text, number);
  return text;
}

std::string kind_text(JsonKind kind) {
  return std::string{name_of(kind)};
}

}  // namespace

std::optional<std::string> fault_of_id(std::string_view id) {
  const std::string allowed = "an id is 1 to " + std::to_string(kLimits.id_bytes_max) +
                              " bytes of UTF-8 without control characters";
  if (id.empty()) {
    return "the id is empty; " + allowed;
  }
  if (id.size() > kLimits.id_bytes_max) {
    return "the id has " + std::to_string(id.size()) + " bytes; " + allowed;
  }
  if (has_control_character(id)) {
    return "the id holds a control character; " + allowed;
  }
  return std::nullopt;
}

std::optional<double> finite_number(JsonValue value) {
  if (value.is(JsonKind::integer)) {
    return static_cast<double>(value.integer());
  }
  if (!value.is(JsonKind::real)) {
    return std::nullopt;
  }
  const std::string_view digits = value.text();
  double number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec == std::errc::result_out_of_range) {
    return 0.0;  // too small for a double; too large ones do not pass the reader
  }
  return number;
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + std::string{name};
  }
  return text;
}

bool FieldReader::expect(JsonValue value, JsonKind kind) {
  if (value.is(kind)) {
    return true;
  }
  refuse(value, "must be " + kind_text(kind) + ", not " + kind_text(value.kind()) +
                    (value.is(JsonKind::null) ? "; an optional member is left out instead" : ""));
  return false;
}

std::string FieldReader::id(JsonValue value) {
  if (!expect(value, JsonKind::string)) {
    return {};
  }
  if (auto fault = fault_of_id(value.text())) {
    refuse(value, std::move(*fault));
  }
  return std::string{value.text()};
}

std::string FieldReader::text(JsonValue value) {
  if (!expect(value, JsonKind::string)) {
    return {};
  }
  if (has_nul(value.text())) {
    refuse(value, "must be a text without NUL");
  }
  return std::string{value.text()};
}

std::string FieldReader::filled_text(JsonValue value) {
  std::string read = text(value);
  if (read.empty() && value.is(JsonKind::string)) {
    refuse(value, "must not be empty");
  }
  return read;
}

std::vector<std::string> FieldReader::ids(JsonValue value) {
  std::vector<std::string> read;
  if (!expect(value, JsonKind::array)) {
    return read;
  }
  read.reserve(value.size());
  for (const JsonValue element : value.elements()) {
    const bool is_id = expect(element, JsonKind::string);
    if (is_id && element.text().empty()) {
      refuse(element, "an id is never empty");
    }
    // A refused one keeps its place, so that the others keep their pointers.
    read.emplace_back(is_id ? element.text() : std::string_view{});
  }
  return read;
}

std::vector<std::string> FieldReader::command(JsonValue value) {
  std::vector<std::string> read;
  if (!expect(value, JsonKind::array)) {
    return read;
  }
  if (value.size() == 0) {
    refuse(value, "must hold at least the program");
  }
  for (const JsonValue element : value.elements()) {
    read.push_back(read.empty() ? filled_text(element) : text(element));
  }
  return read;
}

std::map<std::string, std::string> FieldReader::environment(JsonValue value) {
  std::map<std::string, std::string> read;
  if (!expect(value, JsonKind::object)) {
    return read;
  }
  for (const JsonMember member : value.members()) {
    if (member.name.empty() || has_nul(member.name) ||
        member.name.find('=') != std::string_view::npos) {
      refuse(member.value, "a variable's name is not empty and without = and NUL");
    }
    read.emplace(member.name, text(member.value));
  }
  return read;
}

std::string FieldReader::params(JsonValue value) {
  return expect(value, JsonKind::object) ? json_text(value) : std::string{};
}

bool FieldReader::only_true(JsonValue value) {
  if (!expect(value, JsonKind::boolean)) {
    return false;
  }
  if (!value.boolean()) {
    refuse(value, "must be true, or left out");
  }
  return value.boolean();
}

std::int64_t FieldReader::integer(JsonValue value, Range<std::int64_t> range) {
  if (value.is(JsonKind::integer) && range.from <= value.integer() && value.integer() <= range.to) {
    return value.integer();
  }
  refuse(value, "must be a whole number from " + std::to_string(range.from) + " to " +
                    std::to_string(range.to));
  return range.from;
}

double FieldReader::real(JsonValue value, Range<double> range) {
  const auto number = finite_number(value);
  if (number && range.from <= *number && *number <= range.to) {
    return *number;
  }
  refuse(value,
         "must be a number from " + number_text(range.from) + " to " + number_text(range.to));
  return range.from;
}

std::optional<Duration> FieldReader::duration(JsonValue value, Duration at_least) {
  if (!expect(value, JsonKind::string)) {
    return std::nullopt;
  }
  auto read = read_duration(value.text());
  if (!read) {
    refuse(value, std::move(read).error().message);
    return std::nullopt;
  }
  if (*read < at_least) {
    refuse(value, "must be more than 0");
  }
  return *read;
}

std::size_t FieldReader::choice(JsonValue value, std::span<const std::string_view> names) {
  if (!expect(value, JsonKind::string)) {
    return 0;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == value.text()) {
      return i;
    }
  }
  refuse(value, "must be one of: " + listed(names));
  return 0;
}

}  // namespace stagecall
