#include "formats/wfformat_reader.hpp"

#include "core/refusal.hpp"
#include "formats/field_reader.hpp"
#include "formats/json_text.hpp"
#include "formats/pipeline_reader.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace stagecall {
namespace {

constexpr std::array<std::string_view, 2> kVersions{"1.4", "1.5"};

struct Task {
  JsonValue value;
  std::optional<JsonValue> parents;   // an array
  std::optional<JsonValue> children;  // an array
};

/// From a parent to a child, as indexes of tasks.
struct Edge {
  std::uint32_t parent;
  std::uint32_t child;
  friend bool operator==(const Edge&, const Edge&) = default;
};
struct EdgeHash {
  std::size_t operator()(const Edge& edge) const noexcept {
    return std::hash<std::uint64_t>{}((std::uint64_t{edge.parent} << 32U) | edge.child);
  }
};

/// Two layouts: 1.5 splits a task between `workflow.specification` and `workflow.execution`, joined
/// by id; 1.4 keeps all of it in `workflow.tasks`, where parents and children may be names.
class WfFormatReader {
 public:
  WfFormatReader(const ReadOptions& options, ProblemList& problems)
      : options_(options), fields_(problems) {}

  WfFormatPipeline read(JsonValue top) {
    pipeline_.spec.name = options_.stem;
    if (!fields_.expect(top, JsonKind::object)) {
      return std::move(pipeline_);
    }
    if (const auto fault = fault_of_id(options_.stem)) {
      problems().add_about(top, "the file's name becomes the pipeline's: " + *fault);
    }
    if (const auto version = required(top, "schemaVersion", JsonKind::string)) {
      fields_.choice(*version, kVersions);
    }
    if (const auto workflow = required(top, "workflow", JsonKind::object)) {
      read_workflow(*workflow);
    }
    return std::move(pipeline_);
  }

 private:
  ProblemList& problems() { return fields_.problems(); }

  std::optional<JsonValue> required(JsonValue object, std::string_view name, JsonKind kind) {
    auto value = object.member(name);
    if (!value) {
      problems().add_about(object, "the member " + quoted(name) + " is missing");
      return std::nullopt;
    }
    return fields_.expect(*value, kind) ? value : std::nullopt;
  }

  std::optional<JsonValue> optional_array(JsonValue object, std::string_view name) {
    auto value = object.member(name);
    return value && fields_.expect(*value, JsonKind::array) ? value : std::nullopt;
  }

  void read_workflow(JsonValue workflow) {
    is_split_ = workflow.member("specification").has_value() || !workflow.member("tasks");
    pipeline_.tasks = is_split_ ? "/workflow/specification/tasks" : "/workflow/tasks";
    const auto holder =
        is_split_ ? required(workflow, "specification", JsonKind::object) : std::optional{workflow};
    const auto tasks = holder ? required(*holder, "tasks", JsonKind::array) : std::nullopt;
    if (!tasks || !check_node_count(*tasks, problems())) {
      return;
    }
    if (is_split_) {
      read_execution(workflow);
    }
    tasks_.reserve(tasks->size());
    pipeline_.spec.nodes.reserve(tasks->size());
    for (const JsonValue task : tasks->elements()) {
      read_task(task);
    }
    read_edges();
  }

  void read_execution(JsonValue workflow) {
    const auto execution = required(workflow, "execution", JsonKind::object);
    const auto tasks = execution ? required(*execution, "tasks", JsonKind::array) : std::nullopt;
    if (!tasks) {
      return;
    }
    for (const JsonValue task : tasks->elements()) {
      if (!fields_.expect(task, JsonKind::object)) {
        continue;
      }
      const auto id = required(task, "id", JsonKind::string);
      if (id && !recorded_.emplace(id->text(), task).second) {
        fields_.refuse(*id, "the task " + quoted(id->text()) + " is recorded twice");
      }
    }
  }

  void read_task(JsonValue value) {
    NodeSpec node{.id = ""};
    Task task{value, std::nullopt, std::nullopt};
    if (fields_.expect(value, JsonKind::object)) {
      const bool is_named = !is_split_ && !value.member("id");
      const auto id = required(value, is_named ? "name" : "id", JsonKind::string);
      node.id = id ? fields_.id(*id) : "";
      node.action = TaskAction{"sleep"};
      node.params = sleep_params(value, node.id);
      task.parents = optional_array(value, "parents");
      task.children = optional_array(value, "children");
    }
    const auto index = static_cast<std::uint32_t>(tasks_.size());
    if (!node.id.empty()) {
      by_id_.emplace(node.id, index);
    }
    const auto name = value.is(JsonKind::object) ? value.member("name") : std::nullopt;
    if (!is_split_ && name && name->is(JsonKind::string)) {
      by_name_.emplace(name->text(), index);
    }
    tasks_.push_back(task);
    pipeline_.spec.nodes.push_back(std::move(node));
  }

  /// The member that holds the runtime, wherever the layout puts it.
  std::optional<JsonValue> runtime_of(JsonValue task, const std::string& id) {
    if (is_split_) {
      const auto recorded = recorded_.find(id);
      return recorded == recorded_.end() ? std::nullopt
                                         : recorded->second.member("runtimeInSeconds");
    }
    const auto runtime = task.member("runtimeInSeconds");
    return runtime ? runtime : task.member("runtime");
  }

  std::string sleep_params(JsonValue task, const std::string& id) {
    const auto runtime = runtime_of(task, id);
    if (!runtime) {
      if (is_split_ && recorded_.empty()) {
        return {};  // told once, of the whole
      }
      problems().add_about(task, "no \"runtimeInSeconds\" is recorded for the task " + quoted(id));
      return {};
    }
    const auto seconds = finite_number(*runtime);
    if (!seconds || *seconds < 0 || !std::isfinite(*seconds / options_.speedup)) {
      fields_.refuse(*runtime, "must be a number of seconds, 0 or more");
      return {};
    }
    std::string params = R"({"seconds":)";
    append_json_number(params, *seconds / options_.speedup);
    return params + "}";
  }

  std::optional<std::uint32_t> index_of(std::string_view reference) const {
    if (const auto found = by_id_.find(std::string{reference}); found != by_id_.end()) {
      return found->second;
    }
    const auto found = by_name_.find(reference);
    return found == by_name_.end() ? std::nullopt : std::optional{found->second};
  }

  /// Parents become dependencies; an unknown one stays as it is, for Graph to refuse.
  void read_edges() {
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      if (!tasks_[i].parents) {
        continue;
      }
      NodeSpec& node = pipeline_.spec.nodes[i];
      node.after = fields_.ids(*tasks_[i].parents);
      for (std::string& reference : node.after) {
        if (const auto parent = index_of(reference)) {
          reference = pipeline_.spec.nodes[*parent].id;
          by_parents_.insert({*parent, i});
        }
      }
    }
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].children) {
        check_children(i, *tasks_[i].children);
      }
    }
    check_parents();
  }

  void check_children(std::uint32_t parent, JsonValue children) {
    for (const JsonValue reference : children.elements()) {
      if (!fields_.expect(reference, JsonKind::string)) {
        continue;
      }
      const auto child = index_of(reference.text());
      if (!child) {
        fields_.refuse(reference, "no task has the id " + quoted(reference.text()));
        continue;
      }
      by_children_.insert({parent, *child});
      if (!by_parents_.contains({parent, *child})) {
        fields_.refuse(reference, disagreement(reference.text(), parent, "parents"));
      }
    }
  }

  /// A task without a list of children says nothing about them.
  void check_parents() {
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      if (!tasks_[i].parents) {
        continue;
      }
      for (const JsonValue reference : tasks_[i].parents->elements()) {
        const auto parent =
            reference.is(JsonKind::string) ? index_of(reference.text()) : std::nullopt;
        if (parent && tasks_[*parent].children && !by_children_.contains({*parent, i})) {
          fields_.refuse(reference, disagreement(reference.text(), i, "children"));
        }
      }
    }
  }

  std::string disagreement(std::string_view other, std::uint32_t task, std::string_view list) {
    return quoted(other) + " does not name " + quoted(pipeline_.spec.nodes[task].id) +
           " among its " + std::string{list} + "; parents and children must agree";
  }

  const ReadOptions& options_;
  FieldReader fields_;
  WfFormatPipeline pipeline_;
  bool is_split_ = true;
  std::vector<Task> tasks_;
  std::unordered_map<std::string_view, JsonValue> recorded_;
  std::unordered_map<std::string, std::uint32_t> by_id_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::unordered_set<Edge, EdgeHash> by_parents_;
  std::unordered_set<Edge, EdgeHash> by_children_;
};

}  // namespace

bool is_wfformat(JsonValue top) {
  return top.is(JsonKind::object) && !top.member("pipeline") && !top.member("nodes") &&
         (top.member("workflow") || top.member("schemaVersion"));
}

WfFormatPipeline read_wfformat(const JsonDocument& document, const ReadOptions& options,
                               ProblemList& problems) {
  return WfFormatReader{options, problems}.read(document.top());
}

}  // namespace stagecall
