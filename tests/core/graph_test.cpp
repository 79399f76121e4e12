#include "core/graph.hpp"

#include "core/definition.hpp"
#include "tests/support/small_stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace stagecall;

namespace {

NodeSpec node(std::string id, std::vector<std::string> after = {}) {
  return {.id = std::move(id), .after = std::move(after)};
}

std::vector<std::uint32_t> successors(const Graph& graph, std::uint32_t of) {
  std::vector<std::uint32_t> indexes;
  for (const NodeIndex successor : graph.successors({of})) {
    indexes.push_back(successor.value);
  }
  return indexes;
}

Error refusal(const std::vector<NodeSpec>& nodes) {
  auto graph = Graph::build(nodes);
  REQUIRE_FALSE(graph.has_value());
  CHECK(graph.error().code == ErrorCode::invalid_pipeline);
  return graph.error();
}

std::vector<std::string> places(const Error& error) {
  std::vector<std::string> where;
  for (const Problem& problem : error.problems) {
    where.push_back(problem.where);
  }
  return where;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a graph knows successors, dependencies, edges and depth") {
  const auto graph = Graph::build(
      {node("d", {"b", "c"}), node("a"), node("b", {"a"}), node("c", {"a"}), node("island")});
  REQUIRE(graph.has_value());
  CHECK(graph->size() == 5);
  CHECK(graph->edges() == 4);
  CHECK(graph->depth() == 3);
  CHECK(successors(*graph, 1) == std::vector<std::uint32_t>{2, 3});
  CHECK(successors(*graph, 0).empty());
  CHECK(graph->dependencies({0}) == 2);
  CHECK(graph->dependencies({1}) == 0);
  CHECK(graph->dependencies({4}) == 0);
}

TEST_CASE("a graph of nothing is empty") {
  const auto graph = Graph::build({});
  REQUIRE(graph.has_value());
  CHECK(graph->size() == 0);
  CHECK(graph->depth() == 0);
}

TEST_CASE("a repeated edge counts once") {
  const auto graph = Graph::build({node("a"), node("b", {"a", "a", "a"}), node("c", {"a", "b"})});
  REQUIRE(graph.has_value());
  CHECK(graph->edges() == 3);
  CHECK(graph->dependencies({1}) == 1);
  CHECK(successors(*graph, 0) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("every fault of a graph is told, in document order") {
  const Error error = refusal({node("a", {"ghost", "a"}), node("left", {"right"}), node("a"),
                               node("right", {"left"}), node("b", {"a", "nobody"})});
  CHECK(places(error) == Texts{"/nodes/0/after/0", "/nodes/0/after/1", "/nodes/1", "/nodes/2/id",
                               "/nodes/4/after/1"});
  CHECK(error.problems[0].value == "ghost");
  CHECK(error.problems[0].message.find("\"ghost\"") != std::string::npos);
  CHECK(error.problems[4].value == "nobody");
  CHECK(error.cycle == Texts{"left", "right"});
}

TEST_CASE("at most 20 faults are told, a late cycle among the first by its place") {
  std::vector<NodeSpec> nodes{node("x", {"y"}), node("y", {"x"})};
  for (int i = 0; i < 30; ++i) {
    nodes.push_back(node("n" + std::to_string(i), {"ghost"}));
  }
  const Error error = refusal(nodes);
  CHECK(error.problems.size() == 20);
  CHECK(error.problems.front().where == "/nodes/0");
  CHECK(error.problems.back().where == "/nodes/20/after/0");
}

TEST_CASE("an empty id names nothing: neither repeated nor waited for") {
  CHECK(Graph::build({node(""), node(""), node("a", {""})}).has_value());
}

TEST_CASE("a cycle is told without what leads to it and what waits for it") {
  const Error error = refusal({node("start"), node("tail", {"c"}), node("b", {"a", "start"}),
                               node("c", {"b"}), node("end", {"tail"}), node("a", {"c"})});
  CHECK(error.cycle == Texts{"b", "c", "a"});
  CHECK(error.problems.size() == 1);
  const std::string text = error.message + error.problems[0].message;
  for (const std::string absent : {"start", "tail", "end"}) {
    CHECK(text.find('"' + absent + '"') == std::string::npos);
  }
}

TEST_CASE("random graphs: a told cycle is one, and a depth is the longest path") {
  std::uint32_t seed = 20261130;
  const auto random = [&seed](std::uint32_t below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 8U) % below;
  };
  int cycles = 0;
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const std::uint32_t size = 1 + random(12);
    std::vector<NodeSpec> nodes;
    std::set<std::pair<std::string, std::string>> waits;
    for (std::uint32_t i = 0; i < size; ++i) {
      nodes.push_back(node(std::to_string(i)));
      for (std::uint32_t edge = random(3); edge > 0; --edge) {
        const std::string other = std::to_string(random(size));
        if (other != nodes[i].id) {
          nodes[i].after.push_back(other);
          waits.emplace(nodes[i].id, other);
        }
      }
    }
    const auto graph = Graph::build(nodes);
    if (!graph) {
      ++cycles;
      const Texts& cycle = graph.error().cycle;
      REQUIRE(cycle.size() >= 2);
      CHECK(std::set<std::string>(cycle.begin(), cycle.end()).size() == cycle.size());
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        CHECK(waits.contains({cycle[(i + 1) % cycle.size()], cycle[i]}));
      }
      continue;
    }
    CHECK(graph->edges() == waits.size());
    // Relaxed as often as there are nodes, lengths of longest paths are settled.
    std::vector<std::size_t> length(size, 1);
    for (std::uint32_t pass = 0; pass < size; ++pass) {
      for (const auto& [waiter, dependency] : waits) {
        length[std::stoul(waiter)] =
            std::max(length[std::stoul(waiter)], length[std::stoul(dependency)] + 1);
      }
    }
    CHECK(graph->depth() == *std::max_element(length.begin(), length.end()));
  }
  CHECK(cycles > 50);
  CHECK(cycles < 450);
}

TEST_CASE("a chain and a cycle of 200,000 nodes need no deep stack") {
  std::vector<NodeSpec> nodes{node("n0")};
  for (int i = 1; i < 200'000; ++i) {
    nodes.push_back(node("n" + std::to_string(i), {"n" + std::to_string(i - 1)}));
  }
  std::size_t depth = 0;
  Error error;
  testing::on_small_stack([&] {
    depth = Graph::build(nodes).value().depth();
    nodes.front().after = {nodes.back().id};
    error = Graph::build(nodes).error();
  });
  CHECK(depth == 200'000);
  REQUIRE(error.cycle.size() == 200'000);
  CHECK(error.cycle.front() == "n0");
  CHECK(error.cycle.back() == "n199999");
  CHECK(error.problems.size() == 1);
  CHECK(error.problems[0].message.find("\"n19\"") != std::string::npos);
  CHECK(error.problems[0].message.find("\"n20\"") == std::string::npos);
}

TEST_CASE("a refusal stays short and valid UTF-8 whatever the ids hold") {
  const Error error = refusal({node("a", {std::string(10'000'000, 'x')}), node("b", {"\xff\xfe"})});
  CHECK(error.message.size() < 1'000);
  CHECK(error.problems[0].value == std::string(80, 'x'));
  CHECK(error.problems[0].message.size() < 500);
  CHECK(error.problems[1].value == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("a definition finds its nodes by id") {
  const auto definition =
      Definition::build({.name = "p", .nodes = {node("b", {"a"}), node("a")}}).value();
  CHECK(definition->find("a") == NodeIndex{1});
  CHECK(definition->find("c") == std::nullopt);
  CHECK(definition->node({0}).id == "b");
}
