// validate and verify: is the input right, was everything done right.
#include "cli/commands.hpp"
#include "cli/run_json.hpp"
#include "cli/runnable.hpp"
#include "core/refusal.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <utility>
#include <variant>

namespace stagecall::cli {
namespace {

/// What is allowed, and yet hardly meant.
std::vector<Problem> warnings_of(const Definition& definition, const Clock& clock) {
  const std::set<NodeIndex> without_executor = nodes_without_executor(definition, clock);
  std::vector<Problem> warnings;
  for (std::uint32_t i = 0; i < definition.graph().size(); ++i) {
    const NodeSpec& node = definition.node(NodeIndex{i});
    const std::string named = "node " + stagecall::quoted(node.id);
    std::string message;
    if (node.trigger == Trigger::any_failed && definition.graph().dependencies(NodeIndex{i}) == 0) {
      message = named + " never runs: it waits for a failure, and nothing is before it";
    } else if (without_executor.contains(NodeIndex{i})) {
      message = named + " cannot be run by this command line, only by a program that has its " +
                (std::holds_alternative<TaskAction>(node.action) ? "task" : "executor");
    }
    if (!message.empty() && warnings.size() < kLimits.problems_max) {
      warnings.push_back({"/nodes/" + std::to_string(i), excerpt(node.id), std::move(message)});
    }
  }
  return warnings;
}

/// One run, or every run of the store.
Result<Verification> verify_what_is_named(const Session& session) {
  if (!session.arguments.names_run) {
    const auto store = open_store(session);
    return store ? verify_store(**store) : tl::unexpected<Error>{store.error()};
  }
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  Verification verification;
  verify_run(*found->store, found->row.run, verification);
  return verification;
}

}  // namespace

Result<ExitCode> validate(const Session& session) {
  const auto definition = read_file(session);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  Json value = definition_json(**definition);
  const std::vector<Problem> warnings = warnings_of(**definition, session.clock);
  if (session.output.is_json()) {
    if (!warnings.empty()) {
      value["warnings"] = problems_json(warnings);
    }
    session.output.value(value);
  } else {
    for (const Problem& warning : warnings) {
      session.output.note(
          escaped(session.arguments.file + ": " + warning.where + ": warning: " + warning.message));
    }
    session.output.line(escaped((*definition)->spec().name) + ": " + value["nodes"].dump() +
                        " nodes, " + value["edges"].dump() + " edges, depth " +
                        value["depth"].dump());
  }
  return ExitCode::done;
}

Result<ExitCode> verify(const Session& session) {
  const auto verification = verify_what_is_named(session);
  if (!verification) {
    return tl::unexpected<Error>{verification.error()};
  }
  if (session.output.is_json()) {
    session.output.value(verification_json(*verification));
  } else {
    for (const RunViolation& found : verification->violations) {
      session.output.line(escaped(found.run.text()) + " pass " +
                          std::to_string(found.violation.seq.value) + ": " + found.violation.rule +
                          ": " + escaped(found.violation.text));
    }
    session.output.line(std::to_string(verification->runs) + " runs, " +
                        std::to_string(verification->events) + " events, " +
                        std::to_string(verification->violations.size()) + " violations" +
                        (verification->leftovers == 0
                             ? ""
                             : ", " + std::to_string(verification->leftovers) + " leftovers"));
  }
  return verification->violations.empty() ? ExitCode::done : ExitCode::failed;
}

}  // namespace stagecall::cli
