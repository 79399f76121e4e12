#include "persistence/percent.hpp"

#include <charconv>

namespace stagecall {

std::string percent_encoded(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (value > 0x20 && value <= 0x7e && byte != '%') {
      text += byte;
    } else {
      text += '%';
      text += digits[value >> 4];
      text += digits[value & 15];
    }
  }
  return text;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || read.ec != std::errc{} || read.ptr != digits.data() + 2) {
      return std::nullopt;
    }
    bytes += static_cast<char>(value);
    i += 2;
  }
  return bytes;
}

}  // namespace stagecall
