// Pipelines as text: the pipeline file (JSON, strict) and WfCommons WfFormat. Reading ends in a
// Definition or in an error that lists every fault; nothing here touches the store.
#pragma once

#include "core/definition.hpp"
#include "stagecall/error.hpp"
#include "stagecall/pipeline.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace stagecall {

struct ReadOptions {
  std::string stem{};  ///< the file's name without folder and ending: a WfFormat pipeline's name
  double speedup = 1;  ///< WfFormat: recorded runtimes are divided by it; > 0
};

/// Either format, told apart by its members. Errors: invalid_pipeline with problems.
Result<std::shared_ptr<const Definition>> read_pipeline(std::string_view bytes,
                                                        const ReadOptions& options);

/// Canonical text: fixed member order, defaults left out, no blanks. read_pipeline gives it back;
/// two pipelines are the same exactly if their canonical texts are.
std::string write_pipeline(const PipelineSpec& spec);

}  // namespace stagecall
