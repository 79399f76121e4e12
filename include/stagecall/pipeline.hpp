// What a pipeline is: plain values as its author wrote them, and Pipeline, which builds or reads
// them and is checked as a whole.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

class Definition;
class Pipeline;

/// One node of a Pipeline that is being built. Each call sets a member of its spec and returns the
/// builder, so that calls can be chained; values are checked when the pipeline is. Void once its
/// pipeline is moved or gone.
class NodeBuilder {
 public:
  NodeBuilder(Pipeline& pipeline, std::size_t node) : pipeline_(pipeline), node_(node) {}

  NodeBuilder& after(std::vector<std::string> nodes);  ///< adds to what it waits for
  NodeBuilder& params(std::string json);               ///< a JSON object as text
  NodeBuilder& trigger(Trigger trigger);
  NodeBuilder& retry(RetryPolicy policy);
  NodeBuilder& timeout(Duration timeout);  ///< of each attempt
  NodeBuilder& grace(Duration grace);      ///< between being told to end and being ended
  NodeBuilder& priority(std::int32_t priority);
  NodeBuilder& slots(std::uint32_t slots);
  NodeBuilder& env(const std::string& name, std::string value);  ///< of commands
  NodeBuilder& cwd(std::string folder);                          ///< of commands
  /// Everything that NodeSpec has. The reference holds until the next node is added.
  NodeSpec& spec();

 private:
  Pipeline& pipeline_;
  std::size_t node_;
};

/// A pipeline to be started: built node by node, or read. Const calls may come from any thread.
class Pipeline {
 public:
  /// Reads a pipeline file's text, or WfCommons WfFormat 1.4 or 1.5, whose pipeline is named by
  /// `stem`. invalid_pipeline lists every fault, at most 20, with its place, and the nodes of a
  /// cycle.
  static Result<Pipeline> from_json(std::string_view text, std::string_view stem = "workflow");

  explicit Pipeline(std::string name);
  explicit Pipeline(PipelineSpec spec);
  /// One that was checked before; not null.
  explicit Pipeline(std::shared_ptr<const Definition> checked);

  NodeBuilder task(std::string id, std::string task);
  NodeBuilder command(std::string id, std::vector<std::string> argv);
  NodeBuilder external(std::string id);
  NodeBuilder join(std::string id);

  /// As it stands, checked or not.
  const PipelineSpec& spec() const;
  /// To change what is not a node: name, on_failure, timeout, …
  PipelineSpec& change();

  /// Checks it by the rules of a file: ids, dependencies, cycles, ranges. invalid_pipeline. What it
  /// finds good is kept until the next change, so that starts need not check again.
  Result<void> check();
  /// The canonical text: from_json gives the same pipeline back, and two pipelines are the same
  /// exactly if their texts are. invalid_pipeline.
  Result<std::string> to_json() const;
  /// Checked and indexed, for the engine. invalid_pipeline.
  Result<std::shared_ptr<const Definition>> definition() const;

 private:
  NodeBuilder add(std::string id, Action action);

  PipelineSpec spec_;                          // while there is no checked_
  std::shared_ptr<const Definition> checked_;  // shared by copies; none: changed since its check
};

}  // namespace stagecall
