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
enum class Trigger : std::uint8_t {
  all_succeeded,  ///< once all ended well; skipped as soon as one did not
  all_finished,   ///< once all ended, in whichever way
  any_failed,     ///< as soon as one failed or was skipped; skipped when all ended well
};

/// What a failed node does to the rest of its run.
enum class OnFailure : std::uint8_t {
  go_on,  ///< what does not depend on it runs on
  stop,   ///< the rest is stopped at once
};

/// When a node is tried again.
struct RetryPolicy {
  std::uint32_t attempts_max = 1;  ///< 1 … 1,000; counts outcomes failed and timed_out
  std::uint32_t lost_max = 2;      ///< 0 … 1,000; so many lost attempts are followed by another
  Duration delay{1000};            ///< before the second attempt
  double factor = 2;               ///< 1 … 100; each further delay is larger by it
  Duration delay_max{60'000};      ///< no delay is longer, jitter aside
  double jitter = 0;               ///< 0 … 1; a delay varies by up to this part of itself
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Succeeds as soon as its turn comes.
struct JoinAction {
  friend bool operator==(const JoinAction&, const JoinAction&) = default;
};
/// A callable that the host registered under this name.
struct TaskAction {
  std::string name;  ///< as given to Engine::register_task
  friend bool operator==(const TaskAction&, const TaskAction&) = default;
};
/// Where a command runs.
enum class CommandExecutor : std::uint8_t {
  process,  ///< as a child of the engine's launcher, on its host
  slurm,    ///< as a job of the cluster
};
/// A program with its arguments; no shell in between.
struct CommandAction {
  std::vector<std::string> argv;                        ///< at least the program
  CommandExecutor executor = CommandExecutor::process;  ///< by what it is launched
  friend bool operator==(const CommandAction&, const CommandAction&) = default;
};
/// Somebody outside reports its end.
struct ExternalAction {
  friend bool operator==(const ExternalAction&, const ExternalAction&) = default;
};
/// What a node does.
using Action = std::variant<JoinAction, TaskAction, CommandAction, ExternalAction>;

/// One node as its author wrote it.
struct NodeSpec {
  std::string id;                    ///< 1 … 255 bytes of UTF-8 without control characters
  std::vector<std::string> after{};  ///< ids of the nodes it waits for
  Action action{};                   ///< none given = a join
  std::string params{};              ///< JSON object as text; empty = none
  std::map<std::string, std::string> env{};  ///< of a command, beside what every command gets
  std::string cwd{};                         ///< of a command; empty = the engine's
  std::optional<Duration> timeout{};         ///< per attempt
  RetryPolicy retry{};                       ///< one attempt unless it says more
  Trigger trigger = Trigger::all_succeeded;  ///< what its dependencies' ends mean for it
  std::int32_t priority = 0;                 ///< −100 … 100, higher first
  Duration grace{10'000};                    ///< between TERM and KILL
  Duration lost_after{30'000};               ///< absent, or its end unconfirmed, for so long = lost
  std::uint32_t slots = 1;                   ///< 1 … 1,000, of its engine's
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// Somebody outside ends it: no slot, no executor.
inline bool is_external(const NodeSpec& node) {
  return std::holds_alternative<ExternalAction>(node.action);
}

/// A pipeline as its author wrote it.
struct PipelineSpec {
  std::string name;                         ///< as NodeSpec::id
  OnFailure on_failure = OnFailure::go_on;  ///< what one failed node means for the others
  std::uint32_t concurrent_runs = 1;        ///< 1 … 1,000
  std::optional<Duration> timeout{};        ///< from the run's start
  std::string params{};                     ///< JSON object as text; empty = none
  std::vector<NodeSpec> nodes;              ///< in document order; 1 … 1,000,000
  friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

class Definition;  // checked and indexed; the engine's own
class Pipeline;

/// One node of a Pipeline that is being built. Each call sets a member of its spec and returns the
/// builder, so that calls can be chained; values are checked when the pipeline is. Void once its
/// pipeline is moved or gone.
class NodeBuilder {
 public:
  /// Made by Pipeline; the index is that of a node it has.
  NodeBuilder(Pipeline& pipeline, std::size_t node) : pipeline_(pipeline), node_(node) {}

  /// Adds to what it waits for: ids, also of nodes that come later.
  NodeBuilder& after(std::vector<std::string> nodes);
  /// A JSON object as text, for its task.
  NodeBuilder& params(std::string json);
  /// What its dependencies' ends mean for it; all_succeeded unless said.
  NodeBuilder& trigger(Trigger trigger);
  /// When it is tried again; one attempt unless said.
  NodeBuilder& retry(RetryPolicy policy);
  /// Of each attempt, more than 0, from when it runs; none unless said.
  NodeBuilder& timeout(Duration timeout);
  /// Between being told to end and being ended; 10 s unless said.
  NodeBuilder& grace(Duration grace);
  /// −100 … 100: of the ready ones those with more come first; 0 unless said.
  NodeBuilder& priority(std::int32_t priority);
  /// 1 … 1,000: how many of its engine's slots it takes; 1 unless said.
  NodeBuilder& slots(std::uint32_t slots);
  /// One variable of a command's environment, added or replaced.
  NodeBuilder& env(const std::string& name, std::string value);
  /// A command's folder; the engine's unless said.
  NodeBuilder& cwd(std::string folder);
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

  /// Without nodes yet; the name is checked with the rest.
  explicit Pipeline(std::string name);
  /// Of values made elsewhere; not checked yet.
  explicit Pipeline(PipelineSpec spec);
  /// One that was checked before; not null.
  explicit Pipeline(std::shared_ptr<const Definition> checked);

  /// Adds a node that calls what is registered as `task`.
  NodeBuilder task(std::string id, std::string task);
  /// Adds a node that starts a program; `argv` begins with it, there is no shell in between.
  NodeBuilder command(std::string id, std::vector<std::string> argv);
  /// Adds a node whose end somebody reports by Engine::node_done.
  NodeBuilder external(std::string id);
  /// Adds a node that does nothing: it succeeds when its turn comes.
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
