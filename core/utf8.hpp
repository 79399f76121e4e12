// UTF-8 as the engine needs it: is it, where is it not, and where may a text be cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace stagecall {

/// Offset of the first byte that does not begin a well-formed sequence (no overlong forms, no
/// surrogates, nothing over U+10FFFF); nothing if all is well.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// The longest prefix of at most `bytes_max` bytes that does not split a sequence.
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);

}  // namespace stagecall
