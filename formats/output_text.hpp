// What a node may leave for its successors: JSON of a bounded size.
#pragma once

#include "stagecall/error.hpp"

#include <string>

namespace stagecall {

/// invalid_argument says what is wrong with it; empty = no output, which is right.
Result<void> check_output(const std::string& output);

}  // namespace stagecall
