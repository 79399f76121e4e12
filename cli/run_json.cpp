#include "cli/run_json.hpp"

#include "core/definition.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string_view>

namespace stagecall::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kByte = "byte ";

/// Ends first, then what is still open.
constexpr std::array kStatesInOrder{NodeState::succeeded,  NodeState::failed,  NodeState::skipped,
                                    NodeState::stopped,    NodeState::blocked, NodeState::ready,
                                    NodeState::submitted,  NodeState::running, NodeState::backoff,
                                    NodeState::unreachable};
static_assert(kStatesInOrder.size() == kNodeStateCount);

Json problem_json(const Problem& problem) {
  Json json;
  if (problem.where.starts_with(kByte)) {
    std::uint64_t byte = 0;
    std::from_chars(problem.where.data() + kByte.size(),
                    problem.where.data() + problem.where.size(), byte);
    json["byte"] = byte;
  } else {
    json["pointer"] = problem.where;
  }
  json["value"] = problem.value;
  json["message"] = problem.message;
  return json;
}

Json nodes_json(const NodeCounts& counts) {
  Json nodes{{"total", std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})}};
  for (const NodeState state : kStatesInOrder) {
    nodes[std::string{name_of(state)}] = counts[static_cast<std::size_t>(state)];
  }
  return nodes;
}

Json running_json(const std::vector<RunningNode>& running) {
  Json nodes = Json::array();
  for (const RunningNode& node : running) {
    Json& told =
        nodes.emplace_back(Json{{"node", node.node},
                                {"attempt", node.attempt.value},
                                {"seconds", static_cast<double>(node.age.count()) / 1000}});
    if (node.progress) {
      told["progress"] = *node.progress;
    }
  }
  return nodes;
}

Json leftovers_json(const std::vector<LeftoverAttempt>& leftovers) {
  Json attempts = Json::array();
  for (const LeftoverAttempt& leftover : leftovers) {
    attempts.push_back({{"node", leftover.node},
                        {"attempt", leftover.attempt.value},
                        {"custodian", leftover.custodian},
                        {"since", time_text(leftover.since)}});
  }
  return attempts;
}

}  // namespace

Json error_json(const Error& error) {
  Json inner{{"code", name_of(error.code)}, {"message", error.message}};
  if (!error.problems.empty()) {
    inner["problems"] = problems_json(error.problems);
  }
  if (!error.cycle.empty()) {
    inner["cycle"] = error.cycle;
  }
  return {{"error", std::move(inner)}};
}

Json problems_json(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& problem : problems) {
    list.push_back(problem_json(problem));
  }
  return list;
}

Json run_json(const RunReport& report) {
  const RunStatus& status = report.status;
  Json failed = Json::array();
  for (const FailedNode& node : status.failed) {
    failed.push_back({{"node", node.node},
                      {"attempt", node.attempt.value},
                      {"outcome", name_of(node.outcome.kind)},
                      {"error", node.outcome.error}});
  }
  Json json{{"pipeline", status.run.pipeline},
            {"iteration", status.run.iteration},
            {"status", name_of(status.state)},
            {"seconds", static_cast<double>(status.elapsed.count()) / 1000},
            {"nodes", nodes_json(status.nodes)},
            {"passes",
             {{"total", status.passes.tick + status.passes.event},
              {"tick", status.passes.tick},
              {"event", status.passes.event}}},
            {"failed", std::move(failed)}};
  if (!status.running.empty()) {
    json["running"] = running_json(status.running);
  }
  if (!status.parked.empty()) {
    json["parked"] = status.parked;
  }
  if (!report.leftovers.empty()) {
    json["leftovers"] = leftovers_json(report.leftovers);
  }
  if (!report.quarantined.empty()) {
    json["quarantined"] = report.quarantined;
  }
  return json;
}

Json explanations_json(const RunId& run, const std::vector<NodeExplanation>& explanations) {
  Json nodes = Json::array();
  for (const NodeExplanation& told : explanations) {
    Json& node = nodes.emplace_back(Json{{"node", told.node},
                                         {"state", name_of(told.state)},
                                         {"reason", name_of(told.reason)},
                                         {"text", told.text}});
    if (told.until) {
      node["until"] = time_text(*told.until);
    }
    if (!told.culprits.empty()) {
      node["culprits"] = told.culprits;
    }
  }
  return {{"run", run.text()}, {"nodes", std::move(nodes)}};
}

Json definition_json(const Definition& definition) {
  return {{"pipeline", definition.spec().name},
          {"nodes", definition.graph().size()},
          {"edges", definition.graph().edges()},
          {"depth", definition.graph().depth()}};
}

Json log_json(const AttemptKey& key, const CommandLog& log) {
  return {{"run", key.run.text()}, {"node", key.node}, {"attempt", key.attempt.value},
          {"head", log.head},      {"tail", log.tail}, {"bytes_left_out", log.bytes_left_out}};
}

Json verification_json(const Verification& verification) {
  Json violations = Json::array();
  for (const RunViolation& found : verification.violations) {
    violations.push_back({{"run", found.run.text()},
                          {"seq", found.violation.seq.value},
                          {"rule", found.violation.rule},
                          {"text", found.violation.text}});
  }
  Json json{{"runs", verification.runs},
            {"events", verification.events},
            {"violations", std::move(violations)}};
  if (verification.leftovers > 0) {
    json["leftovers"] = verification.leftovers;
  }
  return json;
}

std::string time_text(WallTime time) {
  using std::chrono::floor;
  const auto whole = floor<std::chrono::seconds>(time);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, static_cast<int>((time - whole).count()));
  return text.data();
}

}  // namespace stagecall::cli
