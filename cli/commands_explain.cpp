// explain: why nodes do not run. The reasons are the core's.
#include "cli/commands.hpp"
#include "cli/holder.hpp"
#include "cli/run_json.hpp"
#include "core/explain.hpp"

#include <utility>

namespace stagecall::cli {
namespace {

void write_explanations(const Session& session, const RunRow& row,
                        const std::vector<NodeExplanation>& explanations) {
  if (session.output.is_json()) {
    session.output.value(explanations_json(row.run, explanations));
    return;
  }
  session.output.line(escaped(row.run.text()) + " " + std::string{name_of(row.summary.state)} +
                      (explanations.empty() ? ": every node runs or has succeeded" : ""));
  for (const NodeExplanation& told : explanations) {
    session.output.line("  " + escaped(told.node) + " " + std::string{name_of(told.state)} + ": " +
                        escaped(told.text));
  }
}

}  // namespace

Result<ExitCode> explain(const Session& session) {
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  const auto& [store, row] = *found;
  const auto state = fold_run(*store, row);
  if (!state) {
    return tl::unexpected<Error>{state.error()};
  }
  std::optional<NodeIndex> node;
  if (session.arguments.names_node) {
    node = state->definition().find(session.arguments.node);
    if (!node) {
      return fail(ErrorCode::not_found,
                  "run " + row.run.text() + " has no node \"" + session.arguments.node + '"');
    }
  }
  const ExplainContext context = explain_context(session, *store, row, state->definition());
  write_explanations(session, row, stagecall::explain(*state, context, node));
  return ExitCode::done;
}

}  // namespace stagecall::cli
