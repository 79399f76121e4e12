// run and wait: to be there until a run ends.
#include "cli/commands.hpp"
#include "cli/engine_options.hpp"
#include "cli/http_service.hpp"
#include "cli/option_sources.hpp"
#include "cli/run_text.hpp"
#include "cli/run_watch.hpp"
#include "cli/signals.hpp"
#include "core/duration.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace stagecall::cli {
namespace {

/// The last word on a run, which has ended or is left alive.
ExitCode conclude(const Session& session, Store& store, const RunRow& row) {
  const bool has_ended = is_terminal(row.summary.state);
  if (session.output.is_json()) {
    show_run(session, store, row, Json::object());
  } else if (has_ended) {
    note_end(session.output, report_run(store, row, session.clock.wall()));
  }
  return has_ended ? exit_code_of(row.summary.state) : ExitCode::interrupted;
}

/// Interrupted: local attempts get their grace, the rest is left to whoever comes next.
Result<ExitCode> drain(const Session& session, Engine& engine, Store& store, RunWatch& watch) {
  const std::string run = escaped(watch.row().run.text());
  session.output.note("interrupted: " + run + " starts nothing more, what runs gets " +
                      write_duration(session.options.drain_grace) + "; interrupt again to quit");
  engine.drain(session.options.drain_grace);
  if (auto looked = watch.look(); !looked) {
    return tl::unexpected<Error>{std::move(looked).error()};
  }
  if (!watch.has_ended()) {
    session.output.note(run + " is alive; go on with: stagecall run " +
                        escaped(session.arguments.file));
  }
  return conclude(session, store, watch.row());
}

/// Waits a moment; tells when nobody can go on with the run here, and why.
class Attendance {
 public:
  Attendance(const Session& session, Engine& engine, RunId run)
      : session_(session), engine_(engine), run_(std::move(run)) {}

  Result<void> wait() {
    const auto status = engine_.wait(run_, kLook);
    if (!status) {
      return tl::unexpected<Error>{status.error()};
    }
    if (!status->quarantined.empty() && !is_terminal(status->state)) {
      return fail(ErrorCode::store_damaged,
                  "run " + run_.text() + ": " + status->quarantined + "; see: stagecall verify");
    }
    if (status->parked != told_) {
      told_ = status->parked;
      session_.output.note(escaped(run_.text()) +
                           (told_.empty() ? " goes on" : " waits: " + escaped(told_)));
    }
    return {};
  }

 private:
  const Session& session_;
  Engine& engine_;
  RunId run_;
  std::string told_;
};

/// Until it ends: scheduled here, or by whoever holds it.
Result<ExitCode> attend(const Session& session, Engine& engine, const RunId& run) {
  auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{std::move(store).error()};
  }
  auto row = (*store)->run(run);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  RunWatch watch{session, **store, *std::move(row)};
  Attendance attendance{session, engine, run};
  if (const auto followed = watch.follow([&] { return attendance.wait(); }); !followed) {
    return tl::unexpected<Error>{followed.error()};
  }
  return watch.has_ended() ? conclude(session, **store, watch.row())
                           : drain(session, engine, **store, watch);
}

}  // namespace

Result<ExitCode> run(const Session& session) {
  const auto definition = read_file(session);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  auto options = engine_options(session.options, false);
  if (!options) {
    return tl::unexpected<Error>{std::move(options).error()};
  }
  if (auto made = make_store_folder(session.options.store); !made) {
    return tl::unexpected<Error>{std::move(made).error()};
  }
  watch_signals();
  auto engine = Engine::open(*std::move(options));
  if (!engine) {
    return tl::unexpected<Error>{std::move(engine).error()};
  }
  const auto http = HttpService::open(session, *engine);
  if (!http) {
    return tl::unexpected<Error>{http.error()};
  }
  auto started =
      engine->start_or_join(Pipeline{*definition}, {.request_id = session.options.request_id});
  if (!started) {
    started.error().message = session.arguments.file + ": " + started.error().message;
    return tl::unexpected<Error>{std::move(started).error()};
  }
  if (!started->created) {
    session.output.note("joins " + escaped(started->run.text()));
  }
  return attend(session, *engine, started->run);
}

Result<ExitCode> wait(const Session& session) {
  watch_signals();
  const auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  auto row = find_run(**store, session.arguments.run);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  RunWatch watch{session, **store, *std::move(row)};
  if (const auto followed = watch.follow([] {
        wait_for_signal(kLook);
        return Result<void>{};
      });
      !followed) {
    return tl::unexpected<Error>{followed.error()};
  }
  if (!watch.has_ended()) {
    session.output.note("interrupted: " + escaped(watch.row().run.text()) + " goes on");
  }
  return conclude(session, **store, watch.row());
}

}  // namespace stagecall::cli
