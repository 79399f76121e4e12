#include "tests/fuzz/target.hpp"

#include "formats/pipeline_file.hpp"
#include "messages/limits.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace stagecall::fuzzing {
namespace {

bool is_fit_for_json(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

void require(bool holds, std::string_view promise) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()),
                 promise.data());
    std::abort();
  }
}

void judge_refusal(const Error& error) {
  require(error.code == ErrorCode::invalid_pipeline, "a refused text is an invalid_pipeline");
  require(!error.problems.empty(), "a refusal names a problem");
  require(error.problems.size() <= kLimits.problems_max, "a refusal names 20 problems at most");
  require(!error.message.empty() && is_fit_for_json(error.message), "the message is JSON text");
  for (const Problem& problem : error.problems) {
    require(problem.where.empty() || problem.where.starts_with('/') ||
                problem.where.starts_with("byte "),
            "a place is a pointer or a byte");
    require(is_fit_for_json(problem.where), "a place is JSON text");
    require(problem.value.size() <= kLimits.problem_value_bytes_max, "a value is cut at 80 bytes");
    require(is_fit_for_json(problem.value), "a value is JSON text");
    require(!problem.message.empty() && is_fit_for_json(problem.message), "a problem has a text");
  }
  for (const std::string& id : error.cycle) {
    require(is_fit_for_json(id), "the ids of a cycle are JSON text");
  }
}

void judge_reading(std::string_view bytes) {
  const auto read = read_pipeline(bytes, {.stem = "stem", .speedup = 8});
  if (!read) {
    judge_refusal(read.error());
    return;
  }
  const PipelineSpec& spec = (*read)->spec();
  require(!spec.nodes.empty(), "an accepted pipeline has nodes");
  require((*read)->graph().depth() <= spec.nodes.size(), "no path is longer than all nodes");
  for (const NodeSpec& node : spec.nodes) {
    const auto found = (*read)->find(node.id);
    require(found && (*read)->node(*found) == node, "each node is found by its id");
  }
  const std::string text = write_pipeline(spec);
  const auto again = read_pipeline(text, {});
  require(again.has_value(), "canonical text is accepted");
  require((*again)->spec() == spec, "canonical text gives the pipeline back");
  require(write_pipeline((*again)->spec()) == text, "canonical text is written the same again");
}

}  // namespace stagecall::fuzzing
