// How a refused pipeline is put into words: short whatever the file holds, and always valid UTF-8.
#pragma once

#include "stagecall/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

/// At most Limits::problem_value_bytes_max bytes of the text, invalid bytes as U+FFFD: what
/// Problem::value holds.
std::string excerpt(std::string_view text);

/// The excerpt in quotation marks, with an ellipsis behind it if something was cut.
std::string quoted(std::string_view text);

/// invalid_pipeline; its message tells the first of the problems, and how many there are.
Error refused_pipeline(std::vector<Problem> problems, std::vector<std::string> cycle);

}  // namespace stagecall
