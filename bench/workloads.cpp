#include "bench/workloads.hpp"

#include <algorithm>

namespace stagecall::bench {
namespace {

std::string node_name(const std::string& kind, std::uint64_t i) {
  return kind + std::to_string(i);
}

Pipeline chain(std::uint64_t nodes) {
  Pipeline pipeline{"chain"};
  for (std::uint64_t i = 0; i < nodes; ++i) {
    auto node = pipeline.task(node_name("n", i), "work");
    if (i > 0) {
      node.after({node_name("n", i - 1)});
    }
  }
  return pipeline;
}

/// One, then `width` after it, then one after all of them.
Pipeline fan(std::uint64_t width) {
  Pipeline pipeline{"fan"};
  pipeline.task("first", "work");
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < width; ++i) {
    all.push_back(node_name("n", i));
    pipeline.task(all.back(), "work").after({"first"});
  }
  pipeline.task("last", "work").after(std::move(all));
  return pipeline;
}

/// 1 → 4 → 4 → 1.
Pipeline layers(std::uint64_t runs) {
  Pipeline pipeline{"layers"};
  pipeline.change().concurrent_runs =
      static_cast<std::uint32_t>(std::min(runs, std::uint64_t{1'000}));
  pipeline.task("first", "work");
  std::vector<std::string> before{"first"};
  for (const std::string layer : {"a", "b"}) {
    std::vector<std::string> now;
    for (std::uint64_t i = 0; i < 4; ++i) {
      now.push_back(node_name(layer, i));
      pipeline.task(now.back(), "work").after(before);
    }
    before = std::move(now);
  }
  pipeline.task("last", "work").after(before);
  return pipeline;
}

}  // namespace

const std::vector<std::string>& workload_names() {
  static const std::vector<std::string> names{"W1", "W2", "W3"};
  return names;
}

Result<Workload> make_workload(const std::string& name, std::uint64_t n) {
  const auto size = [n](std::uint64_t usual) { return n > 0 ? n : usual; };
  if (name == "W1") {
    return Workload{name, "hops a second of a chain", size(1'000), 1, chain(size(1'000))};
  }
  if (name == "W2") {
    return Workload{name, "nodes a second of 1 to n to 1", size(10'000), 1, fan(size(10'000))};
  }
  if (name == "W3") {
    if (n > 1'000) {
      return fail(ErrorCode::invalid_argument, "W3: at most 1000 runs at once are allowed");
    }
    return Workload{name, "nodes a second of n small runs at once", size(1'000), size(1'000),
                    layers(size(1'000))};
  }
  return fail(ErrorCode::invalid_argument,
              "there is no workload \"" + name + "\"; there are W1, W2, W3, and all");
}

}  // namespace stagecall::bench
