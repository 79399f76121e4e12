// explain: why nodes do not run. The reasons are the core's; here is gathered what it cannot know.
#include "cli/commands.hpp"
#include "cli/run_json.hpp"
#include "cli/runnable.hpp"
#include "core/explain.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "persistence/store_claim.hpp"
#include "persistence/store_paths.hpp"
#include "platform/process.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace stagecall::cli {
namespace {

/// By name; empty = nobody; none = it cannot be asked from here.
std::optional<std::string> holder_of(const Session& session, const Store& store, const RunId& run) {
  if (store.lease_authority() != kLeaseFileAuthority) {
    return std::nullopt;
  }
  const std::string path = lease_path(session.options.store);
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) {
    return unreadable ? std::nullopt : std::optional<std::string>{""};
  }
  const auto leases = open_sqlite_lease_store(path, {"", "", this_process()}, session.clock);
  if (!leases) {
    return std::nullopt;
  }
  const auto holders = (*leases)->holders({run});
  return holders ? std::optional{holders->front().replica} : std::nullopt;
}

ExplainContext context_of(const Session& session, const Store& store, const RunRow& row,
                          const Definition& definition) {
  ExplainContext context{.now = session.clock.wall(),
                         .holder = holder_of(session, store, row.run),
                         .parked = row.parked};
  if (context.holder && context.holder->empty()) {
    // Whoever holds a run can run it, so this is of nobody's.
    context.without_executor = nodes_without_executor(definition, session.clock);
  }
  return context;
}

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
  const ExplainContext context = context_of(session, *store, row, state->definition());
  write_explanations(session, row, stagecall::explain(*state, context, node));
  return ExitCode::done;
}

}  // namespace stagecall::cli
