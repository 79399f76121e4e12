// status, history and logs: questions to the store.
#include "cli/commands.hpp"
#include "cli/history_lines.hpp"
#include "cli/run_json.hpp"
#include "cli/run_text.hpp"
#include "executors/process_executor.hpp"
#include "persistence/store_paths.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace stagecall::cli {
namespace {

Result<ExitCode> status_of_all(const Session& session) {
  const auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  const auto rows = (*store)->runs();
  if (!rows) {
    return tl::unexpected<Error>{rows.error()};
  }
  std::vector<RunReport> reports;
  for (const RunRow& row : *rows) {
    reports.push_back(report_run(**store, row, session.clock.wall(), ReportDepth::failures));
  }
  if (!session.output.is_json()) {
    write_runs(session.output, reports);
    return ExitCode::done;
  }
  Json runs = Json::array();
  for (const RunReport& report : reports) {
    runs.push_back(run_json(report));
  }
  session.output.value({{"runs", std::move(runs)}});
  return ExitCode::done;
}

/// The recorded key of an attempt; none given: the node's latest.
Result<AttemptKey> find_attempt(Store& store, const RunRow& row, const std::string& node,
                                const std::optional<Attempt>& wanted) {
  const auto definition = read_definition(store, row);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  const auto index = (*definition)->find(node);
  if (!index) {
    return fail(ErrorCode::not_found, "run " + row.run.text() + " has no node \"" + node + '"');
  }
  if (!std::holds_alternative<CommandAction>((*definition)->node(*index).action)) {
    return fail(ErrorCode::not_found,
                "node \"" + node + "\" of " + row.run.text() + " has no log: it is no command");
  }
  const auto history = store.history(row.run, Seq{0});
  if (!history) {
    return tl::unexpected<Error>{history.error()};
  }
  std::optional<AttemptKey> found;
  bool is_carried = false;
  for (const StoredPass& stored : *history) {
    for (const Event& event : stored.pass.events) {
      const auto* submitted = std::get_if<AttemptSubmitted>(&event);
      if (submitted != nullptr && submitted->node == *index &&
          (!wanted || *wanted == submitted->attempt)) {
        found = AttemptKey{row.run, node, submitted->attempt, submitted->nonce};
      }
      const auto* carried = std::get_if<NodeCarried>(&event);
      is_carried = is_carried || (carried != nullptr && carried->node == *index);
    }
  }
  if (!found) {
    return fail(
        ErrorCode::not_found,
        "node \"" + node + "\" of " + row.run.text() +
            (wanted ? " has no attempt " + std::to_string(wanted->value)
                    : std::string{" has had no attempt yet"}) +
            (is_carried ? "; the run goes on from an earlier one, which has its logs" : ""));
  }
  return *std::move(found);
}

void write_log(const Session& session, const AttemptKey& key, const CommandLog& log) {
  if (session.output.is_json()) {
    session.output.value(log_json(key, log));
    return;
  }
  session.output.bytes(log.head);
  session.output.flush();
  if (log.bytes_left_out > 0) {
    session.output.note("stagecall: " + std::to_string(log.bytes_left_out) +
                        " bytes were left out here");
  }
  session.output.bytes(log.tail);
}

bool is_command(Store& store, const RunRow& row, const std::string& node) {
  const auto state = fold_run(store, row);
  const auto index = state ? state->definition().find(node) : std::nullopt;
  return index && std::holds_alternative<CommandAction>(state->spec(*index).action);
}

}  // namespace

Result<ExitCode> status(const Session& session) {
  if (!session.arguments.names_run) {
    return status_of_all(session);
  }
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  show_run(session, *found->store, found->row, Json::object());
  return ExitCode::done;
}

Result<ExitCode> history(const Session& session) {
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  const auto definition = read_definition(*found->store, found->row);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  const auto passes = found->store->history(found->row.run, Seq{0});
  if (!passes) {
    return tl::unexpected<Error>{passes.error()};
  }
  HistoryLines lines{**definition};
  for (const StoredPass& stored : *passes) {
    for (const Event& event : stored.pass.events) {
      const Json line = lines.take(stored.pass, event);
      if (session.output.is_json()) {
        session.output.value(line);
      } else {
        session.output.line(history_text(line));
      }
    }
  }
  return ExitCode::done;
}

Result<ExitCode> logs(const Session& session) {
  std::optional<Attempt> wanted;
  if (const std::string& text = session.arguments.attempt; !text.empty()) {
    const auto attempt = attempt_of(text);
    if (!attempt) {
      return tl::unexpected<Error>{attempt.error()};
    }
    wanted = *attempt;
  }
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  const auto key = find_attempt(*found->store, found->row, session.arguments.node, wanted);
  if (!key) {
    return tl::unexpected<Error>{key.error()};
  }
  const auto log = read_command_log(store_folder(session.options.store), *key);
  if (!log && (log.error().code != ErrorCode::not_found ||
               !is_command(*found->store, found->row, key->node))) {
    return tl::unexpected<Error>{log.error()};
  }
  write_log(session, *key, log.value_or(CommandLog{}));  // a silent command leaves no file
  return ExitCode::done;
}

}  // namespace stagecall::cli
