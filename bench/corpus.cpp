// W8: recorded executions of real workflows, hurried so that each takes at least a second. Beside
// the critical path: with slots for all, no engine could be faster.
#include "bench/catalogue.hpp"
#include "bench/engine_runs.hpp"
#include "core/definition.hpp"
#include "formats/pipeline_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace stagecall::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSlotsForAll = 100'000;

std::string content(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

double seconds_of(const NodeSpec& node) {
  const auto params = nlohmann::json::parse(node.params, nullptr, false);
  return params.is_object() ? params.value("seconds", 0.0) : 0.0;
}

/// Of its longest path, by the times of its nodes.
double critical_path(const Definition& definition) {
  const Graph& graph = definition.graph();
  std::vector<std::uint32_t> missing(graph.size());
  std::vector<double> starts(graph.size(), 0.0);
  std::vector<NodeIndex> ready;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    missing[i] = graph.dependencies(NodeIndex{i});
    if (missing[i] == 0) {
      ready.push_back(NodeIndex{i});
    }
  }
  double longest = 0;
  while (!ready.empty()) {
    const NodeIndex node = ready.back();
    ready.pop_back();
    const double end = starts[node.value] + seconds_of(definition.node(node));
    longest = std::max(longest, end);
    for (const NodeIndex next : graph.successors(node)) {
      starts[next.value] = std::max(starts[next.value], end);
      if (--missing[next.value] == 0) {
        ready.push_back(next);
      }
    }
  }
  return longest;
}

Measurements measure_instance(const std::string& folder, const fs::path& file) {
  const std::string text = content(file);
  const std::string stem = file.stem().string();
  const auto recorded = read_pipeline(text, {.stem = stem});
  if (!recorded) {
    return tl::unexpected<Error>{recorded.error()};
  }
  const double speedup = std::max(1e-3, critical_path(**recorded));
  const auto hurried = read_pipeline(text, {.stem = stem, .speedup = speedup});
  if (!hurried) {
    return tl::unexpected<Error>{hurried.error()};
  }
  EngineOptions options = usual_options(folder);
  options.slots = kSlotsForAll;
  auto engine = open_engine(options);
  if (!engine) {
    return tl::unexpected<Error>{engine.error()};
  }
  const std::uint64_t nodes = (*hurried)->graph().size();
  const Workload workload{.name = "W8", .n = nodes, .pipelines = {Pipeline{*hurried}}};
  return run_all(*engine, workload).map([&](Measurement measured) {
    measured.part = stem.substr(0, stem.find('-'));
    measured.more["speedup"] = speedup;
    Measurement floor = measured;
    floor.variant = "critical-path";
    floor.seconds = critical_path(**hurried);
    floor.cpu_percent = 0;
    floor.passes = 0;
    floor.commits = 0;
    return std::vector{measured, floor};
  });
}

}  // namespace

std::vector<Case> corpus_cases(const Request& /*request*/) {
  const char* shared = std::getenv("STAGECALL_SHARED");
  const fs::path corpus = fs::path{shared != nullptr ? shared : "../shared"} / "corpus/wfinstances";
  std::vector<fs::path> files;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator{corpus, absent}) {
    if (entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::cerr << "stagecall-bench: W8 SKIPPED: no workflows in " << corpus
              << "; set STAGECALL_SHARED\n";
  }
  std::vector<Case> cases;
  for (const fs::path& file : files) {
    cases.emplace_back(
        [file](const std::string& folder) { return measure_instance(folder, file); });
  }
  return cases;
}

}  // namespace stagecall::bench
