// The canonical text of a pipeline: fixed member order, defaults left out, no blanks.
#include "core/duration.hpp"
#include "formats/json_text.hpp"
#include "formats/member_names.hpp"
#include "formats/pipeline_file.hpp"

#include <cstddef>
#include <iterator>
#include <string>
#include <variant>

namespace stagecall {
namespace {

/// A value that a host has cast from anything else has none: the reader refuses it.
template <class Names, class Value>
std::string name_in(const Names& names, Value value) {
  const auto index = static_cast<std::size_t>(value);
  return index < std::size(names) ? std::string{names[index]} : std::to_string(index);
}

/// Writes one object or array, member by member, and ends it when it goes out of scope.
class Brackets {
 public:
  Brackets(std::string& out, char open, char close) : out_(out), close_(close) { out_ += open; }
  ~Brackets() { out_ += close_; }
  Brackets(const Brackets&) = delete;
  Brackets& operator=(const Brackets&) = delete;

  /// Where the next element, or the value of the next member, goes.
  std::string& element() {
    out_ += is_first_ ? "" : ",";
    is_first_ = false;
    return out_;
  }
  std::string& member(std::string_view name) {
    append_json_string(element(), name);
    return out_ += ':';
  }

  void text(std::string_view name, std::string_view value) {
    append_json_string(member(name), value);
  }
  void duration(std::string_view name, Duration value) { text(name, write_duration(value)); }

 private:
  std::string& out_;
  char close_;
  bool is_first_ = true;
};

void write_texts(std::string& out, const std::vector<std::string>& texts) {
  Brackets array{out, '[', ']'};
  for (const std::string& text : texts) {
    append_json_string(array.element(), text);
  }
}

void write_retry(std::string& out, const RetryPolicy& retry) {
  const RetryPolicy defaults;
  Brackets object{out, '{', '}'};
  if (retry.attempts_max != defaults.attempts_max) {
    object.member("max_attempts") += std::to_string(retry.attempts_max);
  }
  if (retry.lost_max != defaults.lost_max) {
    object.member("max_lost") += std::to_string(retry.lost_max);
  }
  if (retry.delay != defaults.delay) {
    object.duration("delay", retry.delay);
  }
  if (retry.factor != defaults.factor) {
    append_json_number(object.member("factor"), retry.factor);
  }
  if (retry.delay_max != defaults.delay_max) {
    object.duration("max_delay", retry.delay_max);
  }
  if (retry.jitter != defaults.jitter) {
    append_json_number(object.member("jitter"), retry.jitter);
  }
}

struct ActionWriter {
  Brackets& object;

  void operator()(const JoinAction& /*join*/) const {}
  void operator()(const TaskAction& task) const { object.text("task", task.name); }
  void operator()(const CommandAction& command) const {
    write_texts(object.member("command"), command.argv);
    if (command.executor != CommandExecutor::process) {
      object.text("executor", name_in(kExecutorNames, command.executor));
    }
  }
  void operator()(const ExternalAction& /*external*/) const { object.member("external") += "true"; }
};

void write_env(std::string& out, const std::map<std::string, std::string>& env) {
  Brackets object{out, '{', '}'};
  for (const auto& [name, value] : env) {
    object.text(name, value);
  }
}

/// What says how an attempt is made, as opposed to what it does.
void write_conditions(Brackets& object, const NodeSpec& node) {
  static const NodeSpec defaults{};
  if (node.timeout) {
    object.duration("timeout", *node.timeout);
  }
  if (node.retry != defaults.retry) {
    write_retry(object.member("retry"), node.retry);
  }
  if (node.trigger != defaults.trigger) {
    object.text("trigger", name_in(kTriggerNames, node.trigger));
  }
  if (node.priority != defaults.priority) {
    object.member("priority") += std::to_string(node.priority);
  }
  if (node.grace != defaults.grace) {
    object.duration("grace", node.grace);
  }
  if (node.lost_after != defaults.lost_after) {
    object.duration("lost_after", node.lost_after);
  }
  if (node.slots != defaults.slots) {
    object.member("slots") += std::to_string(node.slots);
  }
}

void write_node(std::string& out, const NodeSpec& node) {
  Brackets object{out, '{', '}'};
  object.text("id", node.id);
  if (!node.after.empty()) {
    write_texts(object.member("after"), node.after);
  }
  std::visit(ActionWriter{object}, node.action);
  if (!node.params.empty()) {
    object.member("params") += node.params;
  }
  if (!node.env.empty()) {
    write_env(object.member("env"), node.env);
  }
  if (!node.cwd.empty()) {
    object.text("cwd", node.cwd);
  }
  write_conditions(object, node);
}

}  // namespace

std::string write_pipeline(const PipelineSpec& spec) {
  std::string out;
  {
    Brackets object{out, '{', '}'};
    object.text("pipeline", spec.name);
    if (spec.on_failure != OnFailure::go_on) {
      object.text("on_failure", name_in(kOnFailureNames, spec.on_failure));
    }
    if (spec.concurrent_runs != 1) {
      object.member("concurrent_runs") += std::to_string(spec.concurrent_runs);
    }
    if (spec.timeout) {
      object.duration("timeout", *spec.timeout);
    }
    if (!spec.params.empty()) {
      object.member("params") += spec.params;
    }
    Brackets nodes{object.member("nodes"), '[', ']'};
    for (const NodeSpec& node : spec.nodes) {
      write_node(nodes.element(), node);
    }
  }
  return out;
}

}  // namespace stagecall
