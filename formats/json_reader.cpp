#include "formats/json_reader.hpp"

#include "core/refusal.hpp"
#include "core/utf8.hpp"
#include "messages/limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace stagecall {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr int kOutOfRange = 406;  // nlohmann's id of "number overflow"

/// Walks over the text and tells how far the lexer has read, which its own position does not
/// (it counts lines, and one character too many at the end).
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** reached;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    *reached = at;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at == b.at;
  }
};

/// nlohmann's text without its prefix ("[json.exception…] parse error at line 1, column 2: ") and
/// without the token behind it, which may be as long as the file.
std::string reason_of(const Json::exception& exception) {
  std::string_view text = exception.what();
  const auto prefix = text.find(": ");
  if (prefix != std::string_view::npos) {
    text.remove_prefix(prefix + 2);
  }
  return std::string{text.substr(0, text.find("; last read"))} + "; the text must be strict JSON";
}

/// Takes nlohmann's events onto the tape; false ends the reading.
class Handler {
 public:
  Handler(std::string_view bytes, JsonDocument& document, ProblemList& problems)
      : bytes_(bytes), reached_(bytes.data()), document_(document), problems_(problems) {}

  const char** reached() { return &reached_; }
  /// The first byte behind the top value.
  std::size_t top_end() const { return top_end_; }

  bool null() {
    return add([&] { document_.add(JsonKind::null); });
  }
  bool boolean(bool value) {
    return add([&] { document_.add_boolean(value); });
  }
  bool number_integer(Json::number_integer_t value) {
    return add([&] { document_.add_integer(value); });
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return add([&] {
      if (std::in_range<std::int64_t>(value)) {
        document_.add_integer(static_cast<std::int64_t>(value));
      } else {
        document_.add(JsonKind::real, std::to_string(value));
      }
    });
  }
  bool number_float(Json::number_float_t /*value*/, const std::string& digits) {
    return add([&] { document_.add(JsonKind::real, digits); });
  }
  bool string(const std::string& value) {
    return add([&] { document_.add(JsonKind::string, value); });
  }
  bool binary(Json::binary_t& /*value*/) { return false; }

  bool key(const std::string& name) {
    document_.add(JsonKind::string, name);
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open(JsonKind::object); }
  bool start_array(std::size_t /*size*/) { return open(JsonKind::array); }
  bool end_object() {
    const std::uint32_t object = open_.back().position;
    close();
    refuse_repeated_names({document_, object});
    return true;
  }
  bool end_array() {
    close();
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& token,
                   const Json::exception& exception) {
    if (exception.id == kOutOfRange) {
      problems_.add_at_position(document_.next_position(), excerpt(token),
                                "the number is out of the range of a double");
      return false;
    }
    std::string reason = reason_of(exception);
    const std::size_t byte = byte_of_fault(token, reason);
    problems_.add_at_byte(byte, excerpt(bytes_.substr(byte)), std::move(reason), document_);
    return false;
  }

 private:
  struct Open {
    std::uint32_t position;
    std::size_t size = 0;
  };

  /// Where a string or number begins that is out of place; else the byte that was read last.
  /// (Of other tokens nlohmann tells what stands before them as well.)
  std::size_t byte_of_fault(std::string_view token, std::string_view reason) const {
    const auto has = [&](std::string_view words) { return reason.find(words) != reason.npos; };
    const auto read = static_cast<std::size_t>(reached_ - bytes_.data());
    if (read == bytes_.size() && (has("unexpected end of input") || has("missing closing quote"))) {
      return read;
    }
    if (has("unexpected string literal") || has("unexpected number literal")) {
      return std::min(bytes_.substr(0, read).rfind(token), read - 1);
    }
    return read - 1;
  }

  template <class Add>
  bool add(Add add_value) {
    if (open_.empty()) {
      top_end_ = static_cast<std::size_t>(reached_ - bytes_.data());
    } else {
      ++open_.back().size;
    }
    add_value();
    return true;
  }

  bool open(JsonKind kind) {
    if (open_.size() == kLimits.depth_max) {
      problems_.add_at_position(
          document_.next_position(), kind == JsonKind::object ? "{" : "[",
          "nested too deep: at most " + std::to_string(kLimits.depth_max) + " levels are allowed");
      return false;
    }
    return add([&] { open_.push_back({document_.open(kind)}); });
  }

  void close() {
    document_.close(open_.back().position, open_.back().size);
    open_.pop_back();
    top_end_ = static_cast<std::size_t>(reached_ - bytes_.data());
  }

  void refuse_repeated_names(JsonValue object) {
    names_.clear();
    for (const JsonMember member : object.members()) {
      names_.emplace_back(member.name, member.value.position());
    }
    std::sort(names_.begin(), names_.end());
    for (std::size_t i = 1; i < names_.size(); ++i) {
      if (names_[i].first == names_[i - 1].first) {
        problems_.add_at_position(names_[i].second, excerpt(names_[i].first),
                                  "the member " + quoted(names_[i].first) +
                                      " is repeated; each may stand once in its object");
      }
    }
  }

  std::string_view bytes_;
  const char* reached_;
  JsonDocument& document_;
  ProblemList& problems_;
  std::vector<Open> open_;
  std::size_t top_end_ = 0;
  std::vector<std::pair<std::string_view, std::uint32_t>> names_;
};

std::string hexadecimal(char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x",
                static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return text;
}

/// What is judged before parsing: nlohmann would skip a mark, and tells bytes less exactly.
bool check_encoding(std::string_view bytes, const JsonDocument& document, ProblemList& problems) {
  if (bytes.starts_with(kByteOrderMark)) {
    problems.add_at_byte(0, "", "the text begins with a byte-order mark; UTF-8 without one is read",
                         document);
    return false;
  }
  if (const auto bad = find_invalid_utf8(bytes)) {
    problems.add_at_byte(*bad, hexadecimal(bytes[*bad]),
                         "no valid UTF-8 begins here; the text must be UTF-8", document);
    return false;
  }
  return true;
}

}  // namespace

bool read_json(std::string_view bytes, JsonDocument& document, ProblemList& problems) {
  if (!check_encoding(bytes, document, problems)) {
    return false;
  }
  Handler handler{bytes, document, problems};
  const CountingIterator begin{bytes.data(), handler.reached()};
  const CountingIterator end{bytes.data() + bytes.size(), handler.reached()};
  // Not nlohmann's own strictness: to it a NUL byte is the end of the text.
  constexpr bool kMustEnd = false;
  if (!Json::sax_parse(begin, end, &handler, Json::input_format_t::json, kMustEnd)) {
    return false;
  }
  const std::size_t trailing = bytes.find_first_not_of(kBlanks, handler.top_end());
  if (trailing != std::string_view::npos) {
    problems.add_at_byte(trailing, excerpt(bytes.substr(trailing)),
                         "bytes behind the end of the document; one document is a file", document);
    return false;
  }
  return true;
}

}  // namespace stagecall
