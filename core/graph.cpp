#include "core/graph.hpp"

#include "core/refusal.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stagecall {
namespace {

constexpr std::size_t kCycleIdsInText = 20;

/// Lists of nodes, one per node, in one array: those of node i are targets[offsets[i] …
/// offsets[i + 1]).
struct Adjacency {
  std::vector<std::uint32_t> offsets{0};
  std::vector<NodeIndex> targets;

  std::span<const NodeIndex> of(NodeIndex node) const {
    return {targets.data() + offsets[node.value], targets.data() + offsets[node.value + 1]};
  }
};

struct Faults {
  struct Fault {
    std::size_t node;
    Problem problem;
  };
  std::vector<Fault> first;
  std::vector<std::string> cycle;

  void add(std::size_t node, std::string below, std::string_view value, std::string message) {
    if (first.size() < kLimits.problems_max) {
      first.push_back({node,
                       {.where = "/nodes/" + std::to_string(node) + below,
                        .value = excerpt(value),
                        .message = std::move(message)}});
    }
  }

  /// The cycle is found last, but stands where its first node does.
  void add_cycle(std::size_t node, std::string_view value, std::string message) {
    Faults one;
    one.add(node, "", value, std::move(message));
    const auto place = std::upper_bound(
        first.begin(), first.end(), node,
        [](std::size_t wanted, const Fault& fault) { return wanted <= fault.node; });
    first.insert(place, std::move(one.first.front()));
    first.resize(std::min(first.size(), kLimits.problems_max));
  }

  Error error() && {
    std::vector<Problem> problems;
    problems.reserve(first.size());
    for (Fault& fault : first) {
      problems.push_back(std::move(fault.problem));
    }
    return refused_pipeline(std::move(problems), std::move(cycle));
  }
};

using Index = std::unordered_map<std::string_view, NodeIndex>;

/// What each node waits for, each once.
Adjacency resolve(const std::vector<NodeSpec>& nodes, Faults& faults) {
  Index index;
  index.reserve(nodes.size());
  std::vector<bool> is_repeated(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    is_repeated[i] = !nodes[i].id.empty() && !index.emplace(nodes[i].id, NodeIndex{i}).second;
  }
  Adjacency dependencies;
  dependencies.offsets.reserve(nodes.size() + 1);
  std::vector<std::uint32_t> last_seen_by(nodes.size(), 0);  // + 1, so that 0 is nobody
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const NodeSpec& node = nodes[i];
    if (is_repeated[i]) {
      faults.add(i, "/id", node.id,
                 "the id " + quoted(node.id) + " is taken by node " +
                     std::to_string(index.at(node.id).value) + "; every id is declared once");
    }
    for (std::size_t j = 0; j < node.after.size(); ++j) {
      const std::string& id = node.after[j];
      if (id.empty()) {
        continue;
      }
      const auto found = index.find(id);
      if (found == index.end()) {
        faults.add(i, "/after/" + std::to_string(j), id,
                   quoted(node.id) + " waits for " + quoted(id) + ", but no node has that id");
      } else if (id == node.id) {
        faults.add(i, "/after/" + std::to_string(j), id,
                   quoted(id) + " waits for itself; a node waits for other nodes only");
      } else if (std::exchange(last_seen_by[found->second.value], i + 1) != i + 1) {
        dependencies.targets.push_back(found->second);
      }
    }
    dependencies.offsets.push_back(static_cast<std::uint32_t>(dependencies.targets.size()));
  }
  return dependencies;
}

/// The same edges, seen from the other end.
Adjacency reverse(const Adjacency& edges) {
  const std::size_t size = edges.offsets.size() - 1;
  Adjacency reversed;
  reversed.offsets.assign(size + 1, 0);
  for (const NodeIndex target : edges.targets) {
    ++reversed.offsets[target.value + 1];
  }
  for (std::size_t i = 0; i < size; ++i) {
    reversed.offsets[i + 1] += reversed.offsets[i];
  }
  reversed.targets.resize(edges.targets.size());
  std::vector<std::uint32_t> next{reversed.offsets.begin(), reversed.offsets.end() - 1};
  for (std::uint32_t i = 0; i < size; ++i) {
    for (const NodeIndex target : edges.of({i})) {
      reversed.targets[next[target.value]++] = NodeIndex{i};
    }
  }
  return reversed;
}

struct Order {
  std::vector<std::uint32_t> waiting;  // dependencies that never came: > 0 on and behind cycles
  std::size_t placed = 0;
  std::size_t depth = 0;
};

/// Kahn's algorithm, layer by layer.
Order sort_by_dependence(const Adjacency& dependencies, const Adjacency& successors) {
  Order order;
  std::vector<NodeIndex> layer;
  const auto size = static_cast<std::uint32_t>(dependencies.offsets.size() - 1);
  order.waiting.reserve(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    order.waiting.push_back(static_cast<std::uint32_t>(dependencies.of({i}).size()));
    if (order.waiting.back() == 0) {
      layer.push_back({i});
    }
  }
  std::vector<NodeIndex> next;
  for (; !layer.empty(); layer.swap(next)) {
    ++order.depth;
    order.placed += layer.size();
    next.clear();
    for (const NodeIndex node : layer) {
      for (const NodeIndex successor : successors.of(node)) {
        if (--order.waiting[successor.value] == 0) {
          next.push_back(successor);
        }
      }
    }
  }
  return order;
}

/// One cycle among the nodes that Kahn's algorithm could not place. Each of them waits for another
/// of them, so that walking back along those comes round.
std::vector<NodeIndex> find_cycle(const Adjacency& dependencies, const Order& order) {
  const auto is_left = [&](NodeIndex node) { return order.waiting[node.value] > 0; };
  NodeIndex at{0};
  while (!is_left(at)) {
    ++at.value;
  }
  std::vector<NodeIndex> walk;
  std::vector<bool> is_walked(order.waiting.size());
  while (!is_walked[at.value]) {
    is_walked[at.value] = true;
    walk.push_back(at);
    const auto before = dependencies.of(at);
    at = *std::find_if(before.begin(), before.end(), is_left);
  }
  walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
  std::reverse(walk.begin(), walk.end());
  std::rotate(walk.begin(), std::min_element(walk.begin(), walk.end()), walk.end());
  return walk;
}

void report_cycle(const std::vector<NodeSpec>& nodes, const std::vector<NodeIndex>& cycle,
                  Faults& faults) {
  std::string text =
      "a cycle of " + std::to_string(cycle.size()) + " nodes, each waiting for the one before it: ";
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::string& id = nodes[cycle[i].value].id;
    if (i < kCycleIdsInText) {
      text += quoted(id) + ", ";
    }
    faults.cycle.push_back(id);
  }
  text += cycle.size() > kCycleIdsInText
              ? "and " + std::to_string(cycle.size() - kCycleIdsInText) + " more; "
              : "";
  text += "and " + quoted(faults.cycle.front()) + " waits for the last";
  faults.add_cycle(cycle.front().value, faults.cycle.front(), std::move(text));
}

}  // namespace

Result<Graph> Graph::build(const std::vector<NodeSpec>& nodes) {
  Faults faults;
  Adjacency dependencies = resolve(nodes, faults);
  Adjacency successors = reverse(dependencies);
  const Order order = sort_by_dependence(dependencies, successors);
  if (order.placed < nodes.size()) {
    report_cycle(nodes, find_cycle(dependencies, order), faults);
  }
  if (!faults.first.empty()) {
    return tl::unexpected<Error>{std::move(faults).error()};
  }
  Graph graph;
  graph.dependencies_.reserve(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    graph.dependencies_.push_back(static_cast<std::uint32_t>(dependencies.of({i}).size()));
  }
  graph.offsets_ = std::move(successors.offsets);
  graph.successors_ = std::move(successors.targets);
  graph.depth_ = order.depth;
  return graph;
}

std::span<const NodeIndex> Graph::successors(NodeIndex node) const {
  return {successors_.data() + offsets_[node.value], successors_.data() + offsets_[node.value + 1]};
}

}  // namespace stagecall
