// run and wait: to be there until a run ends.
#include "actors/replica.hpp"
#include "cli/commands.hpp"
#include "cli/option_sources.hpp"
#include "cli/run_text.hpp"
#include "cli/run_watch.hpp"
#include "cli/signals.hpp"
#include "core/duration.hpp"
#include "formats/pipeline_file.hpp"

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

Result<void> check_same(const Session& session, const Definition& definition, const RunRow& row) {
  if (is_run_of(row, definition)) {
    return {};
  }
  const std::string run = row.run.text();
  return fail(ErrorCode::different_pipeline,
              is_terminal(row.summary.state)
                  ? session.arguments.file + " differs from the definition of " + run +
                        ", which this request id has started; use another id"
                  : session.arguments.file + " differs from the definition of the live run " + run +
                        "; wait for that one or stop it first: stagecall stop " + run);
}

/// Interrupted: local attempts get their grace, the rest is left to whoever comes next.
Result<ExitCode> drain(const Session& session, Replica& replica, Store& store, RunWatch& watch) {
  const std::string run = escaped(watch.row().run.text());
  session.output.note("interrupted: " + run + " starts nothing more, what runs gets " +
                      write_duration(session.options.drain_grace) + "; interrupt again to quit");
  replica.drain(session.options.drain_grace);
  if (auto looked = watch.look(); !looked) {
    return tl::unexpected<Error>{std::move(looked).error()};
  }
  if (!watch.has_ended()) {
    session.output.note(run + " is alive; go on with: stagecall run " +
                        escaped(session.arguments.file));
  }
  return conclude(session, store, watch.row());
}

/// Until it ends: scheduled here, or by whoever holds it.
Result<ExitCode> attend(const Session& session, Replica& replica, RunRow row) {
  auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{std::move(store).error()};
  }
  const RunId run = row.run;
  RunWatch watch{session, **store, std::move(row)};
  const auto followed = watch.follow([&]() -> Result<void> {
    const auto left = replica.wait(run, kLook);
    if (left && left->is_broken) {
      return fail(ErrorCode::store_damaged,
                  "run " + run.text() + ": " + left->reason + "; see: stagecall verify");
    }
    if (left && !left->reason.empty()) {
      session.output.note(escaped(run.text()) + " is no longer scheduled here: " +
                          escaped(left->reason) + "; waiting for whoever goes on with it");
      replica.join(run);
    }
    return {};
  });
  if (!followed) {
    return tl::unexpected<Error>{followed.error()};
  }
  return watch.has_ended() ? conclude(session, **store, watch.row())
                           : drain(session, replica, **store, watch);
}

}  // namespace

Result<ExitCode> run(const Session& session) {
  const auto definition = read_file(session);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  const Options& options = session.options;
  if (auto made = make_store_folder(options.store); !made) {
    return tl::unexpected<Error>{std::move(made).error()};
  }
  watch_signals();
  auto replica = Replica::open({.store_path = options.store,
                                .replica = options.replica,
                                .durability = options.durability,
                                .tick = options.tick,
                                .lease_ttl = options.lease_ttl,
                                .slots = options.slots});
  if (!replica) {
    return tl::unexpected<Error>{std::move(replica).error()};
  }
  const auto started = (*replica)->start(*definition, options.request_id);
  if (!started) {
    return tl::unexpected<Error>{started.error()};
  }
  if (auto same = check_same(session, **definition, started->row); !same) {
    return tl::unexpected<Error>{std::move(same).error()};
  }
  if (!started->created) {
    session.output.note("joins " + escaped(started->row.run.text()));
    (*replica)->join(started->row.run);
  }
  return attend(session, **replica, started->row);
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
