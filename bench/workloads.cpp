#include "bench/workloads.hpp"

#include <algorithm>
#include <utility>

namespace stagecall::bench {
namespace {

constexpr std::uint64_t kRunsOfPipeline = 1'000;  // as many as may be live at once

std::string numbered(const std::string& kind, std::uint64_t i) {
  return kind + std::to_string(i);
}

/// Runs of copies of the pipeline.
Workload many(std::string name, std::uint64_t runs, const Pipeline& pipeline) {
  Workload workload{.name = std::move(name), .n = runs, .runs = runs, .pipelines = {}};
  const std::uint64_t pipelines = (runs + kRunsOfPipeline - 1) / kRunsOfPipeline;
  for (std::uint64_t i = 0; i < pipelines; ++i) {
    workload.pipelines.push_back(pipeline);
    PipelineSpec& spec = workload.pipelines.back().change();
    spec.name = numbered(spec.name, i);
    spec.concurrent_runs = static_cast<std::uint32_t>(std::min(runs, kRunsOfPipeline));
  }
  return workload;
}

}  // namespace

Workload chain(std::uint64_t n) {
  Pipeline pipeline{"chain"};
  for (std::uint64_t i = 0; i < n; ++i) {
    auto node = pipeline.task(numbered("n", i), "work");
    if (i > 0) {
      node.after({numbered("n", i - 1)});
    }
  }
  return {.name = "W1", .n = n, .pipelines = {std::move(pipeline)}};
}

Workload fan(std::uint64_t n) {
  Pipeline pipeline{"fan"};
  pipeline.task("first", "work");
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < n; ++i) {
    all.push_back(numbered("n", i));
    pipeline.task(all.back(), "work").after({"first"});
  }
  pipeline.task("last", "work").after(std::move(all));
  return {.name = "W2", .n = n, .pipelines = {std::move(pipeline)}};
}

Workload small_runs(std::uint64_t n) {
  Pipeline pipeline{"layers"};
  pipeline.task("first", "work");
  std::vector<std::string> before{"first"};
  for (const std::string layer : {"a", "b"}) {
    std::vector<std::string> now;
    for (std::uint64_t i = 0; i < 4; ++i) {
      now.push_back(numbered(layer, i));
      pipeline.task(now.back(), "work").after(before);
    }
    before = std::move(now);
  }
  pipeline.task("last", "work").after(before);
  return many("W3", n, pipeline);
}

Workload waiting_runs(std::uint64_t n) {
  Pipeline pipeline{"waiting"};
  pipeline.external("approval");
  return many("W4", n, pipeline);
}

Workload commands(std::uint64_t n) {
  Pipeline pipeline{"commands"};
  for (std::uint64_t i = 0; i < n; ++i) {
    pipeline.command(numbered("n", i), {"true"});
  }
  return {.name = "W9", .n = n, .pipelines = {std::move(pipeline)}};
}

}  // namespace stagecall::bench
