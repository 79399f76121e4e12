#include "bench/sqlite_floor.hpp"

#include "bench/engine_runs.hpp"
#include "bench/machine.hpp"
#include "persistence/sqlite_db.hpp"
#include "persistence/sqlite_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stagecall::bench {
namespace {

/// One recorded pass, to be written again.
struct Row {
  std::int64_t run;
  RawPass pass;
};

Result<std::vector<Row>> recorded_rows(const std::string& path) {
  auto store = open_sqlite_store({.path = path, .create = false});
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  const auto runs = (*store)->runs();
  if (!runs) {
    return tl::unexpected<Error>{runs.error()};
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < runs->size(); ++i) {
    auto passes = (*store)->raw_history((*runs)[i].run);
    if (!passes) {
      return tl::unexpected<Error>{passes.error()};
    }
    for (RawPass& pass : *passes) {
      rows.push_back({static_cast<std::int64_t>(i) + 1, std::move(pass)});
    }
  }
  // As they came: passes of many runs took turns.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& one, const Row& other) { return one.pass.at < other.pass.at; });
  return rows;
}

/// A store with as many rows for runs as the other has.
Result<SqliteDb> floor_store(const std::string& path, std::size_t runs) {
  if (auto store = open_sqlite_store({.path = path}); !store) {
    return tl::unexpected<Error>{store.error()};
  }
  auto db = SqliteDb::open({.path = path});
  if (!db) {
    return db;
  }
  auto made = db->script(
      "PRAGMA synchronous=FULL; BEGIN; INSERT INTO pipeline VALUES ('floor', 1);"
      "INSERT INTO definition VALUES ('00000000000000000000000000000000', '{}');"
      "INSERT INTO run (pipeline, iteration, definition, term, created_at) WITH RECURSIVE n(i) AS "
      "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
      std::to_string(runs) +
      ") SELECT 'floor', i, '00000000000000000000000000000000', 1, 0 FROM n; COMMIT");
  if (!made) {
    return tl::unexpected<Error>{made.error()};
  }
  return db;
}

Result<void> write_row(SqliteDb& db, const Row& row) {
  auto done = db.run(
      "INSERT INTO pass (run, seq, term, at, checksum, events) VALUES (?1, ?2, ?3, "
      "?4, ?5, ?6)",
      {row.run, sqlite_value(row.pass.seq.value), sqlite_value(row.pass.term.value),
       sqlite_value(row.pass.at), sqlite_value(row.pass.checksum), SqliteBlob{row.pass.events}});
  if (!done) {
    return done;
  }
  return db.run(
      "UPDATE run SET last_seq = ?2, last_checksum = ?3, due_at = ?4, submitted = ?5, "
      "succeeded = ?5, event_passes = ?5 WHERE id = ?1",
      {row.run, sqlite_value(row.pass.seq.value), sqlite_value(row.pass.checksum),
       sqlite_value(row.pass.at), sqlite_value(row.pass.seq.value)});
}

Result<void> write_batches(SqliteDb& db, const std::vector<Row>& rows, std::size_t batch) {
  for (std::size_t i = 0; i < rows.size(); i += batch) {
    auto done = db.begin_immediate();
    for (std::size_t k = i; done && k < std::min(rows.size(), i + batch); ++k) {
      done = write_row(db, rows[k]);
    }
    if (done) {
      done = db.commit();
    }
    if (!done) {
      return done;
    }
  }
  return {};
}

}  // namespace

Result<Measurement> measure_floor(const Measurement& engine, std::uint64_t runs,
                                  const std::string& folder) {
  const auto rows = recorded_rows(store_in(folder));
  if (!rows) {
    return tl::unexpected<Error>{rows.error()};
  }
  auto db = floor_store(folder + "/floor.db", runs);
  if (!db) {
    return tl::unexpected<Error>{db.error()};
  }
  const std::uint64_t commits = std::max<std::uint64_t>(1, engine.commits);
  const std::size_t batch = (rows->size() + commits - 1) / commits;
  const Stopwatch watch;
  if (auto written = write_batches(*db, *rows, batch); !written) {
    return tl::unexpected<Error>{written.error()};
  }
  Measurement floor = engine;
  floor.variant = "sqlite-floor";
  floor.seconds = watch.seconds();
  floor.cpu_percent = watch.cpu_percent();
  floor.p50_ms.reset();
  floor.p99_ms.reset();
  floor.rss_mb = resident_mb();
  floor.passes = rows->size();
  floor.commits = (rows->size() + batch - 1) / batch;
  return floor;
}

}  // namespace stagecall::bench
