// status and history: questions to the store, and, of one run, to its holder.
#include "cli/commands.hpp"
#include "cli/follow.hpp"
#include "cli/history_lines.hpp"
#include "cli/holder.hpp"
#include "cli/run_json.hpp"
#include "cli/run_text.hpp"

#include <utility>

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

/// Tells what it has not told yet of a run's history.
class HistoryTeller {
 public:
  HistoryTeller(const Session& session, Store& store, const Definition& definition)
      : session_(session), store_(store), lines_(definition) {}

  Result<void> tell(const RunRow& row) {
    if (row.last_seq == told_) {
      return {};
    }
    return read_on(store_, row.run, told_, [this](const Pass& pass, const Event& event) {
      write(lines_.take(pass, event));
    });
  }

 private:
  void write(const Json& line) {
    if (session_.output.is_json()) {
      session_.output.value(line);
    } else {
      session_.output.line(history_text(line));
    }
  }

  const Session& session_;
  Store& store_;
  HistoryLines lines_;
  Seq told_{};
};

}  // namespace

Result<ExitCode> status(const Session& session) {
  if (!session.arguments.names_run) {
    return status_of_all(session);
  }
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  RunReport report = report_run(*found->store, found->row, session.clock.wall());
  if (const auto view = ask_holder(session, found->row)) {
    add_held(*view, report.status);
  }
  show_report(session, report, Json::object());
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
  HistoryTeller teller{session, *found->store, **definition};
  const auto told = session.arguments.follow
                        ? follow(session, *found->store, found->row,
                                 [&teller](const RunRow& row) { return teller.tell(row); })
                        : teller.tell(found->row);
  if (!told) {
    return tl::unexpected<Error>{told.error()};
  }
  return ExitCode::done;
}

}  // namespace stagecall::cli
