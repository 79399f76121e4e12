#include "executors/command_inputs.hpp"

#include "executors/attempt_files.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace stagecall {
namespace {

Outcome failed(std::string error) {
  return {.kind = OutcomeKind::failed, .error = std::move(error)};
}

/// The outputs are JSON already and stay as they were written.
std::string object_of(const std::map<std::string, std::string>& outputs) {
  std::string text{'{'};
  for (const auto& [node, output] : outputs) {
    text += text.size() > 1 ? "," : "";
    text += nlohmann::json(node).dump() + ':' + output;
  }
  return text + "}\n";
}

}  // namespace

std::optional<Outcome> provide_inputs(const Launch& launch, const std::string& attempt_folder) {
  if (!launch.inputs) {
    return std::nullopt;
  }
  const auto outputs = launch.inputs->read();
  if (!outputs) {
    return failed("cannot read the inputs: " + outputs.error().message);
  }
  if (const int error = write_inputs(attempt_folder, object_of(*outputs)); error != 0) {
    return failed("cannot write the inputs to " + inputs_path(attempt_folder) + ": " +
                  error_text(error));
  }
  return std::nullopt;
}

}  // namespace stagecall
