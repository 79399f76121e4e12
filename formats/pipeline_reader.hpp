// The pipeline file's members, with their defaults and ranges.
#pragma once

#include "formats/json_document.hpp"
#include "formats/problem_list.hpp"
#include "stagecall/pipeline.hpp"

namespace stagecall {

/// Judges each member by itself; ids, edges and cycles are Graph's. With problems the pipeline is
/// what could be read: each node in its place, with an empty id if that is not readable.
PipelineSpec read_pipeline_members(const JsonDocument& document, ProblemList& problems);

/// Whether there are as many as a pipeline may have: 1 … Limits::nodes_max.
bool check_node_count(JsonValue nodes, ProblemList& problems);

}  // namespace stagecall
