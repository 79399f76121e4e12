// Compact JSON text.
#pragma once

#include "formats/json_document.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace stagecall {

/// Appends the text as a JSON string; what is not ASCII stays as it is.
void append_json_string(std::string& out, std::string_view text);

/// Appends the shortest digits that read back as this finite number.
void append_json_number(std::string& out, double number);

/// The value without blanks, members in their order, reals as they were written. Stops soon after
/// `bytes_wanted` bytes.
std::string json_text(JsonValue value,
                      std::size_t bytes_wanted = std::numeric_limits<std::size_t>::max());

}  // namespace stagecall
