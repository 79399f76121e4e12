#include "tests/sim/scenario.hpp"

#include "core/duration.hpp"
#include "formats/pipeline_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace stagecall::sim {
namespace {

using Json = nlohmann::json;

const std::set<std::string> kActs{"crash", "pause",     "drain", "flush", "forget",
                                  "away",  "partition", "cut",   "stop"};

Duration duration_of(const Json& json, const std::string& member, Duration otherwise) {
  if (!json.contains(member)) {
    return otherwise;
  }
  const auto read = read_duration(json.at(member).get<std::string>());
  if (!read) {
    throw std::invalid_argument{"member " + member + ": " + read.error().message};
  }
  return *read;
}

Act act_of(const Json& json) {
  Act act{.at = duration_of(json, "at", Duration{0}),
          .what = json.at("do").get<std::string>(),
          .replica = json.value("replica", std::size_t{0}),
          .lasts = duration_of(json, "for", Duration{20'000})};
  if (!kActs.contains(act.what)) {
    throw std::invalid_argument{"member do: " + act.what + " is none of those known"};
  }
  return act;
}

std::string pipeline_of(const Json& json) {
  const auto definition = read_pipeline(json.dump(), {});
  if (!definition) {
    throw std::invalid_argument{"member pipelines: " + definition.error().message};
  }
  return write_pipeline((*definition)->spec());
}

void read_faults(const Json& json, Scenario& scenario) {
  for (const auto& [name, chance] : json.items()) {
    const bool is_known =
        std::any_of(fault_kinds().begin(), fault_kinds().end(),
                    [&name = name](const FaultKind& kind) { return kind.name == name; });
    if (!is_known) {
      throw std::invalid_argument{"member faults: " + name + " is none of those known"};
    }
    scenario.faults[name] = chance.get<double>();
  }
}

NodeSpec random_node(Dice& dice, std::size_t index) {
  NodeSpec node{.id = "n" + std::to_string(index)};
  for (std::size_t before = 0; before < index; ++before) {
    if (dice.hits(0.35)) {
      node.after.push_back("n" + std::to_string(before));
    }
  }
  const double kind = dice.fraction();
  if (kind < 0.45) {
    node.action = TaskAction{"work"};
  } else if (kind < 0.8) {
    node.action = CommandAction{{"work"}};
  } else if (kind < 0.9) {
    node.action = ExternalAction{};
  }
  node.trigger = dice.hits(0.75)  ? Trigger::all_succeeded
                 : dice.hits(0.6) ? Trigger::all_finished
                                  : Trigger::any_failed;
  node.retry.attempts_max = static_cast<std::uint32_t>(1 + dice.below(3));
  node.retry.lost_max = static_cast<std::uint32_t>(dice.below(4));
  node.retry.delay = dice.between(Duration{1}, Duration{5'000});
  node.retry.jitter = dice.hits(0.3) ? 0.5 : 0;
  node.grace = dice.between(Duration{1}, Duration{10'000});
  node.lost_after = dice.between(Duration{1'000}, Duration{30'000});
  node.priority = static_cast<std::int32_t>(dice.below(3));
  node.slots = static_cast<std::uint32_t>(1 + (dice.hits(0.3) ? dice.below(4) : 0));
  if (dice.hits(0.4)) {
    node.timeout = dice.between(Duration{500}, Duration{30'000});
  }
  return node;
}

}  // namespace

const std::vector<FaultKind>& fault_kinds() {
  static const std::vector<FaultKind> kinds{
      // Chances a call.
      {"store.refuse", 0.1},
      {"store.full", 0.05},
      {"store.doubt_lost", 0.1},
      {"store.doubt_written", 0.1},
      {"store.slow", 0.1},
      {"store.read_fails", 0.1},
      {"lease.refuse", 0.2},
      {"lease.deaf", 0.1},
      {"lease.slow", 0.2},
      {"nudge.drop", 0.7},
      {"nudge.twice", 0.3},
      {"nudge.late", 0.5},
      {"executor.early", 0.3},
      {"executor.late", 0.3},
      {"executor.twice", 0.3},
      {"executor.never", 0.1},
      {"executor.forget", 0.1},
      {"executor.unknown", 0.2},
      {"executor.throw", 0.05},
      {"executor.ignore_cancel", 0.3},
      {"executor.fail", 0.3},
      {"actor.stall", 0.01},
      // Rates a second.
      {"replica.crash", 0.08},
      {"replica.pause", 0.08},
      {"replica.drain", 0.03},
      {"clock.set", 0.05},
      {"lease.flush", 0.05},
      {"lease.forget", 0.1},
      {"lease.away", 0.03},
      {"lease.partition", 0.05},
      {"store.cut", 0.05},
      {"run.stop", 0.02},
      {"node.force", 0.03},
  };
  return kinds;
}

Result<Scenario> read_scenario(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    Scenario scenario;
    scenario.name = json.at("name").get<std::string>();
    scenario.replicas = json.value("replicas", scenario.replicas);
    scenario.slots = json.value("slots", scenario.slots);
    scenario.runs = json.value("runs", scenario.runs);
    scenario.length = duration_of(json, "length", scenario.length);
    scenario.tick = duration_of(json, "tick", scenario.tick);
    scenario.lease_ttl = duration_of(json, "lease_ttl", scenario.lease_ttl);
    read_faults(json.value("faults", Json::object()), scenario);
    for (const Json& act : json.value("acts", Json::array())) {
      scenario.acts.push_back(act_of(act));
    }
    for (const Json& pipeline : json.value("pipelines", Json::array())) {
      scenario.pipelines.push_back(pipeline_of(pipeline));
    }
    if (scenario.replicas == 0 || scenario.slots == 0) {
      throw std::invalid_argument{"members replicas and slots: at least 1"};
    }
    return scenario;
  } catch (const std::exception& exception) {
    return fail(ErrorCode::invalid_argument, "read a scenario: " + std::string{exception.what()});
  }
}

Scenario random_scenario(Dice& dice) {
  Scenario scenario;
  scenario.replicas = static_cast<std::uint32_t>(1 + dice.below(3));
  scenario.slots = static_cast<std::uint32_t>(1 + dice.below(5));
  scenario.runs = static_cast<std::uint32_t>(1 + dice.below(6));
  scenario.length = dice.between(Duration{10'000}, Duration{120'000});
  scenario.tick = dice.hits(0.5) ? Duration{5'000} : Duration{1'000};
  scenario.lease_ttl = dice.hits(0.5) ? Duration{15'000} : Duration{3'000};
  // Not all at once: a fault that always comes first hides what is behind it.
  for (const FaultKind& kind : fault_kinds()) {
    if (dice.hits(0.4)) {
      scenario.faults.emplace(kind.name, kind.most * dice.fraction());
    }
  }
  return scenario;
}

std::string random_pipeline(Dice& dice, const std::string& name) {
  PipelineSpec spec{.name = name, .nodes = {}};
  const std::size_t nodes = 1 + dice.below(7);
  for (std::size_t i = 0; i < nodes; ++i) {
    spec.nodes.push_back(random_node(dice, i));
  }
  spec.on_failure = dice.hits(0.2) ? OnFailure::stop : OnFailure::go_on;
  spec.concurrent_runs = static_cast<std::uint32_t>(1 + dice.below(2));
  if (dice.hits(0.15)) {
    spec.timeout = dice.between(Duration{5'000}, Duration{90'000});
  }
  return write_pipeline(spec);
}

}  // namespace stagecall::sim
