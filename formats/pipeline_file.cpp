#include "formats/pipeline_file.hpp"

#include "core/refusal.hpp"
#include "formats/json_reader.hpp"
#include "formats/pipeline_reader.hpp"
#include "formats/wfformat_reader.hpp"
#include "messages/limits.hpp"

#include <cmath>
#include <utility>

namespace stagecall {
namespace {

/// Graph's `/nodes/I/after/J` as the place in a WfFormat file.
void move_to_tasks(Error& error, const std::string& tasks) {
  constexpr std::string_view kNodes = "/nodes";
  constexpr std::string_view kAfter = "/after/";
  for (Problem& problem : error.problems) {
    problem.where.replace(0, kNodes.size(), tasks);
    if (const auto after = problem.where.rfind(kAfter); after != std::string::npos) {
      problem.where.replace(after, kAfter.size(), "/parents/");
    }
  }
}

}  // namespace

Result<std::shared_ptr<const Definition>> read_pipeline(std::string_view bytes,
                                                        const ReadOptions& options) {
  if (!std::isfinite(options.speedup) || options.speedup <= 0) {
    return fail(ErrorCode::invalid_argument, "the speedup must be a finite number greater than 0");
  }
  JsonDocument document;
  ProblemList problems;
  if (bytes.size() > kLimits.pipeline_bytes_max) {
    problems.add_at_byte(kLimits.pipeline_bytes_max, "",
                         "the file has " + std::to_string(bytes.size()) + " bytes, at most " +
                             std::to_string(kLimits.pipeline_bytes_max) + " are read",
                         document);
    return tl::unexpected<Error>{std::move(problems).error(document)};
  }
  if (!read_json(bytes, document, problems)) {
    return tl::unexpected<Error>{std::move(problems).error(document)};
  }
  WfFormatPipeline pipeline;
  const bool is_from_tasks = is_wfformat(document.top());
  if (is_from_tasks) {
    pipeline = read_wfformat(document, options, problems);
  } else {
    pipeline.spec = read_pipeline_members(document, problems);
  }
  auto definition = Definition::build(std::move(pipeline.spec));
  if (!definition) {
    Error error = std::move(definition).error();
    if (is_from_tasks) {
      move_to_tasks(error, pipeline.tasks);
    }
    problems.merge(std::move(error), document);
  }
  if (!problems.is_empty()) {
    return tl::unexpected<Error>{std::move(problems).error(document)};
  }
  return definition;
}

}  // namespace stagecall
