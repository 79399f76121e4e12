// Strict JSON: what lenient readers mend or pass over is refused here.
#pragma once

#include "formats/json_document.hpp"
#include "formats/problem_list.hpp"

#include <string_view>

namespace stagecall {

/// Refuses what RFC 8259 does, and a byte-order mark, bytes behind the document, bad UTF-8, lone
/// surrogates, repeated member names, numbers no double can hold and depth over Limits::depth_max.
/// False if the text ends before its document does: then the document is a beginning only.
/// Depth of the text never becomes depth of the stack.
bool read_json(std::string_view bytes, JsonDocument& document, ProblemList& problems);

}  // namespace stagecall
