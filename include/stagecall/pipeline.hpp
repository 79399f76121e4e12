// What a pipeline is, as its author wrote it: values without rules. Graph checks them.
#pragma once

#include "stagecall/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecall {

/// Decides from the ends of its dependencies whether a node runs.
enum class Trigger : std::uint8_t { all_succeeded, all_finished, any_failed };

/// What a failed node does to the rest of its run.
enum class OnFailure : std::uint8_t { go_on, stop };

struct RetryPolicy {
  std::uint32_t attempts_max = 1;  ///< 1 … 1,000; counts outcomes failed and timed_out
  std::uint32_t lost_max = 2;      ///< 0 … 1,000; so many lost attempts are followed by another
  Duration delay{1000};            ///< before the second attempt
  double factor = 2;               ///< 1 … 100; each further delay is larger by it
  Duration delay_max{60'000};
  double jitter = 0;  ///< 0 … 1; a delay varies by up to this part of itself
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Succeeds as soon as its turn comes.
struct JoinAction {
  friend bool operator==(const JoinAction&, const JoinAction&) = default;
};
/// A callable that the host registered under this name.
struct TaskAction {
  std::string name;
  friend bool operator==(const TaskAction&, const TaskAction&) = default;
};
/// Where a command runs.
enum class CommandExecutor : std::uint8_t { process, slurm };
/// A program with its arguments; no shell in between.
struct CommandAction {
  std::vector<std::string> argv;  ///< at least the program
  CommandExecutor executor = CommandExecutor::process;
  friend bool operator==(const CommandAction&, const CommandAction&) = default;
};
/// Somebody outside reports its end.
struct ExternalAction {
  friend bool operator==(const ExternalAction&, const ExternalAction&) = default;
};
using Action = std::variant<JoinAction, TaskAction, CommandAction, ExternalAction>;

struct NodeSpec {
  std::string id;  ///< 1 … 255 bytes of UTF-8 without control characters
  std::vector<std::string> after{};
  Action action{};
  std::string params{};  ///< JSON object as text; empty = none
  std::map<std::string, std::string> env{};
  std::string cwd{};                  ///< empty = the engine's
  std::optional<Duration> timeout{};  ///< per attempt
  RetryPolicy retry{};
  Trigger trigger = Trigger::all_succeeded;
  std::int32_t priority = 0;  ///< −100 … 100, higher first
  Duration grace{10'000};     ///< between TERM and KILL
  Duration lost_after{30'000};
  std::uint32_t slots = 1;  ///< 1 … 1,000
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// Somebody outside ends it: no slot, no executor.
inline bool is_external(const NodeSpec& node) {
  return std::holds_alternative<ExternalAction>(node.action);
}

struct PipelineSpec {
  std::string name;  ///< as NodeSpec::id
  OnFailure on_failure = OnFailure::go_on;
  std::uint32_t concurrent_runs = 1;  ///< 1 … 1,000
  std::optional<Duration> timeout{};  ///< from the run's start
  std::string params{};               ///< JSON object as text; empty = none
  std::vector<NodeSpec> nodes;
  friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

}  // namespace stagecall
