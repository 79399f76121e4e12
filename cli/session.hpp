// What every command is given: its arguments, the options, where its words go.
#pragma once

#include "actors/run_reader.hpp"
#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/definition.hpp"
#include "persistence/store.hpp"
#include "stagecall/time.hpp"

#include <memory>

namespace stagecall::cli {

struct Session {
  const Arguments& arguments;
  const Options& options;  ///< with the store's path filled in
  Output& output;
  const Clock& clock;
};

/// FILE, read at once and checked; nothing of the store is touched.
Result<std::shared_ptr<const Definition>> read_file(const Session& session);

/// The store of commands that only ask or request: never created.
Result<std::unique_ptr<Store>> open_store(const Session& session);

/// The run that a command is about, and the store that it was found in.
struct FoundRun {
  std::unique_ptr<Store> store;
  RunRow row;
};

/// Opens the store and finds RUN in it.
Result<FoundRun> open_run(const Session& session);

/// A transaction of this one write.
Result<Reply> write_one(Store& store, Write write);

/// The run object, for programs or for people, with the members of `extra` after it.
void show_report(const Session& session, const RunReport& report, const Json& extra);
/// The same of what the store says of a run.
void show_run(const Session& session, Store& store, const RunRow& row, const Json& extra);

}  // namespace stagecall::cli
