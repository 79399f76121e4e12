// prune: forgets runs that ended long ago. Others may use the store meanwhile.
#include "cli/commands.hpp"
#include "core/duration.hpp"
#include "core/refusal.hpp"
#include "executors/run_files.hpp"
#include "persistence/store_paths.hpp"

#include <nlohmann/json.hpp>

#include <variant>

namespace stagecall::cli {
namespace {

constexpr Duration kAgeMax = std::chrono::hours{87'600};

struct Pruned {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
};

Result<Duration> age_of(const std::string& text) {
  const auto age = read_duration(text);
  if (!age || *age < Duration{0} || *age > kAgeMax) {
    return fail(ErrorCode::invalid_argument,
                "--older-than: " + stagecall::quoted(text) +
                    " is not allowed; give a duration from 0s to ten years (87600h)");
  }
  return *age;
}

void remove_files(const Session& session, const RunId& run) {
  if (const auto removed = remove_run_files(store_folder(session.options.store), run); !removed) {
    session.output.note("stagecall: " + escaped(removed.error().message));
  }
}

/// Batch after batch, so that nobody waits long for the store.
Result<Pruned> prune_all(const Session& session, Store& store, WallTime ended_before) {
  Pruned pruned;
  std::size_t last = kLimits.prune_runs_max;
  while (last == kLimits.prune_runs_max) {
    const auto reply = write_one(
        store, PruneRuns{.ended_before = ended_before, .runs_max = kLimits.prune_runs_max});
    if (!reply) {
      return tl::unexpected<Error>{reply.error()};
    }
    const auto& gone = std::get<PruneReply>(*reply);
    for (const RunId& run : gone.runs) {
      remove_files(session, run);
    }
    last = gone.runs.size();
    pruned.runs += last;
    pruned.events += gone.events;
  }
  return pruned;
}

}  // namespace

Result<ExitCode> prune(const Session& session) {
  const auto age = age_of(session.arguments.older_than);
  if (!age) {
    return tl::unexpected<Error>{age.error()};
  }
  const auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  const auto pruned = prune_all(session, **store, session.clock.wall() - *age);
  if (!pruned) {
    return tl::unexpected<Error>{pruned.error()};
  }
  if (session.output.is_json()) {
    session.output.value({{"runs", pruned->runs}, {"events", pruned->events}});
  } else {
    session.output.line(std::to_string(pruned->runs) + " runs with " +
                        std::to_string(pruned->events) + " events removed");
  }
  return ExitCode::done;
}

}  // namespace stagecall::cli
