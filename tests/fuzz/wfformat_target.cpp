// The bytes are a recorded workflow: read through the door of files, and by the reader of WfFormat
// whatever their top value is.
#include "formats/json_reader.hpp"
#include "formats/wfformat_reader.hpp"
#include "tests/fuzz/target.hpp"

#include <utility>
#include <variant>

namespace stagecall::fuzzing {
namespace {

void judge_recorded(std::string_view bytes) {
  JsonDocument document;
  ProblemList problems;
  if (!read_json(bytes, document, problems)) {
    return;
  }
  const WfFormatPipeline read = read_wfformat(document, {.stem = "stem", .speedup = 8}, problems);
  if (!problems.is_empty()) {
    judge_refusal(std::move(problems).error(document));
    return;
  }
  const auto tasks = document.find(read.tasks);
  require(tasks && tasks->size() == read.spec.nodes.size(), "each task becomes one node");
  for (const NodeSpec& node : read.spec.nodes) {
    const auto* task = std::get_if<TaskAction>(&node.action);
    require(task != nullptr && *task == TaskAction{"sleep"}, "each task becomes a sleep");
    require(node.params.starts_with("{\"seconds\":"), "a sleep has its seconds");
  }
}

}  // namespace
}  // namespace stagecall::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(bytes), size};
  stagecall::fuzzing::judge_recorded(text);
  stagecall::fuzzing::judge_reading(text);
  return 0;
}
