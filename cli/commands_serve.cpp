// serve: a replica. Adopts and schedules runs until it is told to stop.
#include "cli/commands.hpp"
#include "cli/engine_options.hpp"
#include "cli/http_service.hpp"
#include "cli/option_sources.hpp"
#include "cli/signals.hpp"
#include "core/duration.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace stagecall::cli {
namespace {

/// A signal ends the wait; without a pipe for its word it is seen so much later.
constexpr Duration kIdle{1'000};

using Counters = std::map<std::string, std::uint64_t>;

std::uint64_t count_of(const Counters& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second;
}

void note_begin(const Session& session, const Engine& engine) {
  session.output.note("serves " + escaped(session.options.store) + " as replica " +
                      escaped(engine.replica()) + ", " + std::to_string(session.options.slots) +
                      " slots; TERM or INT drains it, a second one quits");
}

void note_drain(const Session& session) {
  session.output.note("drains: starts nothing more, what runs gets " +
                      write_duration(session.options.drain_grace) + "; interrupt again to quit");
}

/// What the replica did, once it has drained.
void conclude(const Session& session, Engine& engine, Duration served) {
  const Counters counters = engine.counters();
  const std::uint64_t adopted = count_of(counters, "supervisor.adopted");
  const std::uint64_t ended = count_of(counters, "supervisor.ended");
  const std::uint64_t handed_over = count_of(counters, "supervisor.handed_over");
  const double seconds = static_cast<double>(served.count()) / 1000;
  if (session.output.is_json()) {
    session.output.value(
        {{"replica", engine.replica()},
         {"store", session.options.store},
         {"seconds", seconds},
         {"runs", {{"adopted", adopted}, {"ended", ended}, {"handed_over", handed_over}}},
         {"leases_lost", count_of(counters, "lock_manager.lost")},
         {"launched", count_of(counters, "custodian.launched")}});
    return;
  }
  session.output.note("served " + seconds_text(seconds) + ": " + std::to_string(adopted) +
                      " runs adopted, " + std::to_string(ended) + " ended here, " +
                      std::to_string(handed_over) + " handed over");
}

}  // namespace

Result<ExitCode> serve(const Session& session) {
  const Options& options = session.options;
  auto opened = engine_options(options, true);
  if (!opened) {
    return tl::unexpected<Error>{std::move(opened).error()};
  }
  if (auto made = make_store_folder(options.store); !made) {
    return tl::unexpected<Error>{std::move(made).error()};
  }
  watch_signals();
  const BootTime begun = session.clock.boot();
  auto engine = Engine::open(*std::move(opened));
  if (!engine) {
    return tl::unexpected<Error>{std::move(engine).error()};
  }
  const auto http = HttpService::open(session, *engine);
  if (!http) {
    return tl::unexpected<Error>{http.error()};
  }
  note_begin(session, *engine);
  while (!is_interrupted()) {
    wait_for_signal(kIdle);
  }
  note_drain(session);
  engine->drain(options.drain_grace);
  conclude(session, *engine, session.clock.boot() - begun);
  return ExitCode::done;
}

}  // namespace stagecall::cli
