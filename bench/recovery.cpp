// W10: a process is killed while it holds n live runs; how soon the next one holds them all.
#include "bench/apart.hpp"
#include "bench/engine_runs.hpp"
#include "bench/machine.hpp"
#include "persistence/sqlite_store.hpp"

#include <utility>

namespace stagecall::bench {
namespace {

constexpr std::chrono::milliseconds kLook{2};

Measurement measured(const std::string& variant, std::uint64_t n, const Stopwatch& watch) {
  return {.workload = "W10",
          .variant = variant,
          .n = n,
          .unit = "runs",
          .nodes = n,
          .seconds = watch.seconds(),
          .cpu_percent = watch.cpu_percent(),
          .rss_mb = resident_mb()};
}

/// The least: the rows and histories read, one by one, nothing taken over.
Result<Measurement> by_reading(const std::string& folder, std::uint64_t n) {
  const Stopwatch watch;
  auto store = open_sqlite_store({.path = store_in(folder), .create = false});
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  const auto rows = (*store)->runs();
  if (!rows) {
    return tl::unexpected<Error>{rows.error()};
  }
  std::uint64_t passes = 0;
  for (const RunRow& row : *rows) {
    const auto history = (*store)->raw_history(row.run);
    if (!history) {
      return tl::unexpected<Error>{history.error()};
    }
    passes += history->size();
  }
  Measurement floor = measured("read-floor", n, watch);
  floor.passes = passes;
  return floor;
}

Result<Measurement> by_engine(const std::string& folder, std::uint64_t n) {
  const Stopwatch watch;
  auto engine = open_engine(usual_options(folder));
  if (!engine) {
    return tl::unexpected<Error>{engine.error()};
  }
  const bool are_held =
      wait_until([&] { return engine->counters()["supervisor.adopted"] >= n; }, kLook);
  if (!are_held) {
    return fail(ErrorCode::internal, "not all runs were taken up again");
  }
  Measurement done = measured("stagecall", n, watch);
  done.commits = engine->counters()["store.commits"];
  return done;
}

Measurements measure_recovery(const std::string& folder, std::uint64_t n) {
  const auto left = do_and_die([&]() -> Result<std::shared_ptr<void>> {
    auto engine = open_engine(usual_options(folder));
    if (!engine) {
      return tl::unexpected<Error>{engine.error()};
    }
    const auto runs = start_all(*engine, waiting_runs(n));
    if (!runs) {
      return tl::unexpected<Error>{runs.error()};
    }
    return std::make_shared<Engine>(*std::move(engine));
  });
  if (!left) {
    return tl::unexpected<Error>{left.error()};
  }
  const auto floor = by_reading(folder, n);
  return floor ? by_engine(folder, n).map([&floor](const Measurement& engine) {
    return std::vector{engine, *floor};
  })
               : Measurements{tl::unexpected<Error>{floor.error()}};
}

}  // namespace

std::vector<Case> recovery_cases(const Request& request) {
  std::vector<Case> cases;
  for (const std::uint64_t n :
       request.n > 0 ? std::vector{request.n} : std::vector<std::uint64_t>{1'000, 10'000}) {
    cases.emplace_back([n](const std::string& folder) { return measure_recovery(folder, n); });
  }
  return cases;
}

}  // namespace stagecall::bench
