// Numbers and texts as bytes, between the engine and its launcher and in exit records. Both ends
// run on one host, so the machine's own byte order serves.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

/// Appends to a buffer. Every number takes 8 bytes, a text its length and its bytes.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void number(std::uint64_t value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void signed_number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) {
      text(value);
    }
  }

 private:
  std::string& out_;
};

/// Reads what ByteWriter wrote. After the first fault everything reads as zero or empty, and
/// is_whole() says so.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) {
      return break_off();
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) {
      break_off();
      return {};
    }
    std::string value{rest_.substr(0, size)};
    rest_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (std::uint64_t left = number(); left > 0 && !is_broken_; --left) {
      values.push_back(text());
    }
    return values;
  }
  /// All was there, and nothing else.
  bool is_whole() const { return !is_broken_ && rest_.empty(); }

 private:
  std::uint64_t break_off() {
    is_broken_ = true;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool is_broken_ = false;
};

}  // namespace stagecall
