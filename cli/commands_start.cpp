// start: makes a run durable, of a file or of what failed in an earlier run. Schedules nothing.
#include "actors/run_reader.hpp"
#include "cli/commands.hpp"
#include "cli/option_sources.hpp"
#include "core/decide.hpp"
#include "core/rerun.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/nudge.hpp"
#include "persistence/store_paths.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace stagecall::cli {
namespace {

/// What is to be started.
struct Beginning {
  std::string named{};  ///< as errors call it
  std::shared_ptr<const Definition> definition;
  std::string text{};  ///< the definition as stored
  std::vector<NodeCarried> carried{};
  std::optional<RunId> earlier{};  ///< of a rerun
};

StartRun first_write(const Session& session, Beginning beginning) {
  const PipelineState fresh{beginning.definition};
  const WallTime now = session.clock.wall();
  const Decision first = begin(fresh, std::nullopt, now, beginning.carried);
  const PipelineSpec& spec = beginning.definition->spec();
  std::vector<NodeIndex> succeeded;
  for (const NodeCarried& node : beginning.carried) {
    if (node.has_succeeded) {
      succeeded.push_back(node.node);
    }
  }
  return {.pipeline = spec.name,
          .definition = std::move(beginning.text),
          .concurrent_runs = spec.concurrent_runs,
          .request_id = session.options.request_id,
          .at = now,
          .events = first.events,
          .summary = {.state = first.draft.run().state,
                      .nodes = first.draft.run().counts,
                      .due_at = next_due(first.draft, session.options.tick)},
          .carried_from = std::move(beginning.earlier),
          .carried = std::move(succeeded)};
}

Result<ExitCode> start_in(const Session& session, Store& store, const Beginning& beginning) {
  const auto reply = write_one(store, first_write(session, beginning));
  if (!reply) {
    return tl::unexpected<Error>{reply.error()};
  }
  const auto& started = std::get<RunStartedReply>(*reply);
  const std::string run = started.row.run.text();
  if (started.row.run.pipeline != beginning.definition->spec().name) {
    return fail(ErrorCode::different_pipeline, "start " + beginning.named + ": the request id " +
                                                   session.options.request_id + " has started " +
                                                   run + "; give another one");
  }
  if (started.created) {
    send_nudge(store_folder(session.options.store), {}, run);
  } else {
    const bool is_same = is_run_of(started.row, *beginning.definition);
    session.output.note(
        escaped(run) + " is there already" +
        (is_same ? "" : ", with another definition than " + escaped(beginning.named)));
  }
  show_run(session, store, started.row, {{"created", started.created}});
  return ExitCode::done;
}

Result<ExitCode> start_file(const Session& session) {
  const auto definition = read_file(session);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  const Options& options = session.options;
  if (auto made = make_store_folder(options.store); !made) {
    return tl::unexpected<Error>{std::move(made).error()};
  }
  const auto store = open_sqlite_store({.path = options.store, .durability = options.durability});
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  return start_in(session, **store,
                  {.named = session.arguments.file,
                   .definition = *definition,
                   .text = write_pipeline((*definition)->spec())});
}

/// What the earlier run leaves to the next one.
Result<Beginning> rerun_of(Store& store, const RunRow& earlier) {
  auto text = store.definition(earlier.definition);
  if (!text) {
    return tl::unexpected<Error>{std::move(text).error()};
  }
  const auto state = fold_run(store, earlier);
  if (!state) {
    return tl::unexpected<Error>{state.error()};
  }
  auto carried = carry_over(*state);
  if (!carried) {
    Error error = std::move(carried).error();
    error.message = "start --from-failed " + earlier.run.text() + ": " + error.message;
    return tl::unexpected<Error>{std::move(error)};
  }
  return Beginning{.named = earlier.run.text(),
                   .definition = state->shared_definition(),
                   .text = *std::move(text),
                   .carried = *std::move(carried),
                   .earlier = earlier.run};
}

Result<ExitCode> start_again(const Session& session) {
  const auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  const auto earlier = find_run(**store, *session.arguments.from_failed);
  if (!earlier) {
    return tl::unexpected<Error>{earlier.error()};
  }
  const auto beginning = rerun_of(**store, *earlier);
  if (!beginning) {
    return tl::unexpected<Error>{beginning.error()};
  }
  return start_in(session, **store, *beginning);
}

}  // namespace

Result<ExitCode> start(const Session& session) {
  if (!session.arguments.from_failed) {
    return start_file(session);
  }
  if (!session.arguments.file.empty()) {
    return fail(ErrorCode::invalid_argument,
                "start: give FILE or --from-failed RUN, not both: a rerun keeps the definition of "
                "its earlier run");
  }
  return start_again(session);
}

}  // namespace stagecall::cli
