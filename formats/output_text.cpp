#include "formats/output_text.hpp"

#include "messages/limits.hpp"

#include <nlohmann/json.hpp>

namespace stagecall {

Result<void> check_output(const std::string& output) {
  if (output.size() > kLimits.output_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                "the output is " + std::to_string(output.size()) + " bytes; at most " +
                    std::to_string(kLimits.output_bytes_max) + " are allowed");
  }
  if (!output.empty() && !nlohmann::json::accept(output)) {
    return fail(ErrorCode::invalid_argument, "the output is not JSON");
  }
  return {};
}

}  // namespace stagecall
