// WfCommons WfFormat 1.4 and 1.5: recorded workflow executions, read as pipelines of `sleep` tasks.
#pragma once

#include "formats/json_document.hpp"
#include "formats/pipeline_file.hpp"
#include "formats/problem_list.hpp"

#include <string>

namespace stagecall {

/// Told by `workflow` or `schemaVersion` in the place of `pipeline` and `nodes`.
bool is_wfformat(JsonValue top);

struct WfFormatPipeline {
  PipelineSpec spec;
  std::string tasks;  ///< pointer of the array whose elements became the nodes
};

/// With problems, the pipeline is what could be read, as for read_pipeline_members.
WfFormatPipeline read_wfformat(const JsonDocument& document, const ReadOptions& options,
                               ProblemList& problems);

}  // namespace stagecall
