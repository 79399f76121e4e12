// Percent encoding: bytes that would end a word, or that no terminal shows, as %XX.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stagecall {

/// Blanks, control characters, `%` and all bytes above 0x7e are encoded.
std::string percent_encoded(std::string_view bytes);

/// None: a `%` without two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace stagecall
