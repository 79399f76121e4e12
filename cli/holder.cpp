#include "cli/holder.hpp"

#include "cli/runnable.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "persistence/store_claim.hpp"
#include "persistence/store_paths.hpp"
#include "platform/process.hpp"

#include <filesystem>
#include <system_error>

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

}  // namespace

std::optional<HeldView> ask_holder(const Session& session, const RunRow& row) {
  return stagecall::ask_holder(store_folder(session.options.store), row, session.clock);
}

ExplainContext explain_context(const Session& session, const Store& store, const RunRow& row,
                               const Definition& definition) {
  ExplainContext context{.now = session.clock.wall(), .parked = row.parked};
  if (const auto view = ask_holder(session, row)) {
    add_held(*view, context);
    return context;
  }
  context.holder = holder_of(session, store, row.run);
  if (context.holder && context.holder->empty()) {
    // Whoever holds a run can run it, so this is of nobody's.
    context.without_executor = nodes_without_executor(definition, session.clock);
  }
  return context;
}

}  // namespace stagecall::cli
