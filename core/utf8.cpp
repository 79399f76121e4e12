#include "core/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace stagecall {
namespace {

/// Bytes of the well-formed sequence at `text[at]`, 0 if there is none (Unicode, table 3-7).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t offset) -> unsigned {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
  };
  const auto continues = [&](std::size_t offset) { return (byte(offset) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  const unsigned second = byte(1);
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) {
    return 0;
  }
  if (lead < 0xE0) {
    return 2;
  }
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second > 0x9F;
    return !overlong && !surrogate && continues(2) ? 3 : 0;
  }
  const bool overlong = lead == 0xF0 && second < 0x90;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return !overlong && !too_large && continues(2) && continues(3) ? 4 : 0;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080ULL) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) {
    return text;
  }
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace stagecall
