#include "formats/pipeline_reader.hpp"

#include "core/duration.hpp"
#include "formats/field_reader.hpp"
#include "formats/member_names.hpp"
#include "messages/limits.hpp"

#include <array>
#include <utility>

namespace stagecall {
namespace {

constexpr Duration kNothing{0};
constexpr Duration kSomething{1};

/// A node while its members come in, in any order.
struct NodeDraft {
  NodeSpec node;
  std::vector<JsonMember> actions;
  std::optional<JsonMember> executor;
};

struct PipelineDraft {
  PipelineSpec spec;
  bool has_name = false;
  bool has_nodes = false;
};

std::uint32_t count(FieldReader& fields, JsonValue value, Range<std::int64_t> range) {
  return static_cast<std::uint32_t>(fields.integer(value, range));
}

void read_duration_into(FieldReader& fields, JsonValue value, Duration at_least, Duration& target) {
  target = fields.duration(value, at_least).value_or(target);
}

constexpr std::array kRetryRules = std::to_array<MemberRule<RetryPolicy>>({
    {"max_attempts",
     [](FieldReader& fields, JsonValue value, RetryPolicy& retry) {
       retry.attempts_max = count(fields, value, {1, 1000});
     }},
    {"max_lost",
     [](FieldReader& fields, JsonValue value, RetryPolicy& retry) {
       retry.lost_max = count(fields, value, {0, 1000});
     }},
    {"delay",
     [](FieldReader& fields, JsonValue value, RetryPolicy& retry) {
       read_duration_into(fields, value, kSomething, retry.delay);
     }},
    {"factor",
     [](FieldReader& fields, JsonValue value, RetryPolicy& retry) {
       retry.factor = fields.real(value, {1, 100});
     }},
    {"max_delay",
     [](FieldReader& fields, JsonValue value,
        RetryPolicy& retry) { read_duration_into(fields, value, kSomething, retry.delay_max); }},
    {"jitter", [](FieldReader& fields, JsonValue value,
                  RetryPolicy& retry) { retry.jitter = fields.real(value, {0, 1}); }},
});

template <class Read>
void read_action(JsonValue value, std::string_view name, NodeDraft& draft, Read read) {
  draft.actions.push_back({name, value});
  draft.node.action = read();
}

constexpr std::array kNodeRules = std::to_array<MemberRule<NodeDraft>>({
    {"id", [](FieldReader& fields, JsonValue value,
              NodeDraft& draft) { draft.node.id = fields.id(value); }},
    {"after", [](FieldReader& fields, JsonValue value,
                 NodeDraft& draft) { draft.node.after = fields.ids(value); }},
    {"task",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       read_action(value, "task", draft, [&] { return TaskAction{fields.filled_text(value)}; });
     }},
    {"command",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       read_action(value, "command", draft,
                   [&] { return CommandAction{.argv = fields.command(value)}; });
     }},
    {"external",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       read_action(value, "external", draft, [&] {
         fields.only_true(value);
         return ExternalAction{};
       });
     }},
    {"params", [](FieldReader& fields, JsonValue value,
                  NodeDraft& draft) { draft.node.params = fields.params(value); }},
    {"executor", [](FieldReader& /*fields*/, JsonValue value,
                    NodeDraft& draft) { draft.executor = JsonMember{"executor", value}; }},
    {"env", [](FieldReader& fields, JsonValue value,
               NodeDraft& draft) { draft.node.env = fields.environment(value); }},
    {"cwd", [](FieldReader& fields, JsonValue value,
               NodeDraft& draft) { draft.node.cwd = fields.filled_text(value); }},
    {"timeout", [](FieldReader& fields, JsonValue value,
                   NodeDraft& draft) { draft.node.timeout = fields.duration(value, kSomething); }},
    {"retry",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       read_members<RetryPolicy>(fields, value, kRetryRules, draft.node.retry);
     }},
    {"trigger",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       draft.node.trigger = static_cast<Trigger>(fields.choice(value, kTriggerNames));
     }},
    {"priority",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       draft.node.priority = static_cast<std::int32_t>(fields.integer(value, {-100, 100}));
     }},
    {"grace",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       read_duration_into(fields, value, kNothing, draft.node.grace);
     }},
    {"lost_after",
     [](FieldReader& fields, JsonValue value, NodeDraft& draft) {
       read_duration_into(fields, value, kSomething, draft.node.lost_after);
     }},
    {"slots", [](FieldReader& fields, JsonValue value,
                 NodeDraft& draft) { draft.node.slots = count(fields, value, {1, 1000}); }},
});

/// One action at most, and an executor for a command only.
void settle_action(FieldReader& fields, NodeDraft& draft) {
  if (draft.actions.size() > 1) {
    std::vector<std::string_view> names;
    for (const JsonMember& action : draft.actions) {
      names.push_back(action.name);
    }
    fields.refuse(draft.actions[1].value,
                  "a node has one action, this one has " + listed(names) + "; leave one");
  }
  if (!draft.executor) {
    return;
  }
  const std::size_t chosen = fields.choice(draft.executor->value, kExecutorNames);
  if (auto* command = std::get_if<CommandAction>(&draft.node.action)) {
    command->executor = static_cast<CommandExecutor>(chosen);
  } else if (draft.actions.size() <= 1) {
    fields.refuse(draft.executor->value, "only a node with a command has an executor");
  }
}

NodeSpec read_node(FieldReader& fields, JsonValue value) {
  NodeDraft draft;
  read_members<NodeDraft>(fields, value, kNodeRules, draft);
  settle_action(fields, draft);
  if (value.is(JsonKind::object) && !value.member("id")) {
    fields.problems().add_about(value, "the member \"id\" is missing; every node has one");
  }
  return std::move(draft.node);
}

void read_nodes(FieldReader& fields, JsonValue value, std::vector<NodeSpec>& nodes) {
  if (!fields.expect(value, JsonKind::array) || !check_node_count(value, fields.problems())) {
    return;
  }
  nodes.reserve(value.size());
  for (const JsonValue element : value.elements()) {
    nodes.push_back(read_node(fields, element));
  }
}

constexpr std::array kPipelineRules = std::to_array<MemberRule<PipelineDraft>>({
    {"pipeline",
     [](FieldReader& fields, JsonValue value, PipelineDraft& draft) {
       draft.has_name = true;
       draft.spec.name = fields.id(value);
     }},
    {"on_failure",
     [](FieldReader& fields, JsonValue value, PipelineDraft& draft) {
       draft.spec.on_failure = static_cast<OnFailure>(fields.choice(value, kOnFailureNames));
     }},
    {"concurrent_runs",
     [](FieldReader& fields, JsonValue value, PipelineDraft& draft) {
       draft.spec.concurrent_runs = count(fields, value, {1, 1000});
     }},
    {"timeout",
     [](FieldReader& fields, JsonValue value, PipelineDraft& draft) {
       draft.spec.timeout = fields.duration(value, kSomething);
     }},
    {"params", [](FieldReader& fields, JsonValue value,
                  PipelineDraft& draft) { draft.spec.params = fields.params(value); }},
    {"nodes",
     [](FieldReader& fields, JsonValue value, PipelineDraft& draft) {
       draft.has_nodes = true;
       read_nodes(fields, value, draft.spec.nodes);
     }},
});

}  // namespace

bool check_node_count(JsonValue nodes, ProblemList& problems) {
  if (nodes.size() >= 1 && nodes.size() <= kLimits.nodes_max) {
    return true;
  }
  problems.add_about(nodes, "a pipeline has 1 to " + std::to_string(kLimits.nodes_max) +
                                " nodes, this one has " + std::to_string(nodes.size()));
  return false;
}

PipelineSpec read_pipeline_members(const JsonDocument& document, ProblemList& problems) {
  FieldReader fields{problems};
  PipelineDraft draft;
  const JsonValue top = document.top();
  read_members<PipelineDraft>(fields, top, kPipelineRules, draft);
  if (top.is(JsonKind::object) && !draft.has_name) {
    problems.add_about(top, "the member \"pipeline\" is missing; it names the pipeline");
  }
  if (top.is(JsonKind::object) && !draft.has_nodes) {
    problems.add_about(top, "the member \"nodes\" is missing; it lists what the pipeline runs");
  }
  return std::move(draft.spec);
}

}  // namespace stagecall
