#include "persistence/sqlite_store.hpp"

#include "tests/persistence/fixtures.hpp"
#include "tests/persistence/raw_sql.hpp"
#include "tests/persistence/store_contract.hpp"
#include "tests/support/paths.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

Connect connect_to(const TempFolder& folder) {
  return [&] { return open_store(folder / "store.db"); };
}

/// Opens, expects a refusal that names the path, and gives code and text. The file, and its log if
/// it has one, stay as they are.
std::string refusal_of(const SqliteStoreOptions& options) {
  const std::string before = bytes_of(options.path);
  const auto store = open_sqlite_store(options);
  REQUIRE_FALSE(store);
  CHECK(store.error().message.find(options.path) != std::string::npos);
  CHECK(bytes_of(options.path) == before);
  return code_of(store) + ": " + store.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A store with one run, closed.
std::string make_store(const TempFolder& folder) {
  const std::string path = folder / "store.db";
  REQUIRE(write_one<RunStartedReply>(*open_store(path), start_of("p")));
  return path;
}

}  // namespace

TEST_CASE("store contract: starts") {
  const TempFolder folder;
  check_starts(connect_to(folder));
}
TEST_CASE("store contract: request ids of starts") {
  const TempFolder folder;
  check_start_requests(connect_to(folder));
}
TEST_CASE("store contract: terms and the fence") {
  const TempFolder folder;
  check_terms_and_fence(connect_to(folder));
}
TEST_CASE("store contract: history") {
  const TempFolder folder;
  check_history(connect_to(folder));
}
TEST_CASE("store contract: inbox") {
  const TempFolder folder;
  check_inbox(connect_to(folder));
}
TEST_CASE("store contract: what only one may wait of") {
  const TempFolder folder;
  check_inbox_subjects(connect_to(folder));
}
TEST_CASE("store contract: outputs") {
  const TempFolder folder;
  check_outputs(connect_to(folder));
}
TEST_CASE("R18: a rerun takes outputs along, in SQLite") {
  const TempFolder folder;
  check_carried_outputs(connect_to(folder));
}
TEST_CASE("T6: ended runs are removed whole and their iterations never used again, in SQLite") {
  const TempFolder folder;
  check_prune(connect_to(folder));
}
TEST_CASE("T14: leftovers stay listed until they are confirmed, in SQLite") {
  const TempFolder folder;
  check_leftovers(connect_to(folder));
}
TEST_CASE("store contract: batches") {
  const TempFolder folder;
  check_batches(connect_to(folder));
}
TEST_CASE("store contract: lookups") {
  const TempFolder folder;
  check_lookups(connect_to(folder));
}
TEST_CASE("store contract: data version") {
  const TempFolder folder;
  check_data_version(connect_to(folder));
}
TEST_CASE("S1: two writers and a reader at once lose nothing, on one SQLite file") {
  const TempFolder folder;
  check_parallel_appends(connect_to(folder));
}
TEST_CASE("R4: of many stops on as many connections one is stored") {
  const TempFolder folder;
  check_parallel_stops(connect_to(folder));
}
TEST_CASE("R3: 20 threads on each of two connections start one pipeline: one row") {
  const TempFolder folder;
  check_parallel_starts(connect_to(folder));
}

TEST_CASE("a store is created whole, private, with its folders, and found again") {
  const TempFolder folder;
  const std::string path = folder / "a/b/store.db";
  CHECK(code_of(open_sqlite_store({.path = path, .create = false})) == "not_found");
  CHECK_FALSE(std::filesystem::exists(folder / "a"));

  const auto store = open_store(path);
  struct ::stat status {};
  for (const char* suffix : {"", "-wal"}) {
    REQUIRE(::stat((path + suffix).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
  const auto again = open_sqlite_store({.path = path, .create = false});
  REQUIRE(again);
  CHECK((*again)->store_id() == store->store_id());
  CHECK(code_of(open_sqlite_store({.path = ""})) == "invalid_argument");
}

TEST_CASE("processes that create a store at once find the same one, and nothing else is left") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  std::vector<int> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(start_child([&] {
      const auto store = open_sqlite_store({.path = path});
      return store && write_one<RunStartedReply>(**store, start_of("p")) ? 0 : 1;
    }));
  }
  for (const int child : children) {
    CHECK(wait_for_child(child) == 0);
  }
  CHECK(open_store(path)->runs().value().size() == 1);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator{folder / ""}) {
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("S1: two processes and a hammer on one file: no lost write, no immediate BUSY") {
  constexpr int rounds = 150;
  const TempFolder folder;
  const std::string path = folder / "store.db";
  REQUIRE(run_in_child([&] {
            return write_one<RunStartedReply>(*open_store(path), start_of("shared")) ? 0 : 1;
          }) == 0);

  std::vector<int> children;
  for (const std::string name : {"one", "two"}) {
    children.push_back(start_child([&, name] {
      const auto store = open_sqlite_store({.path = path, .durability = Durability::normal});
      auto row = write_one<RunStartedReply>(**store, start_of(name)).value().row;
      for (int i = 0; i < rounds; ++i) {
        const auto replies = (*store)->write({append_to(row), report_of({"shared", 1})});
        if (!replies || !replies->at(0) || !replies->at(1)) {
          return 1;
        }
        row.last_seq = std::get<AppendReply>(**replies->begin()).last_seq;
      }
      return 0;
    }));
  }
  children.push_back(start_child([&] {
    RawSql hammer{path};
    for (int i = 0; i < rounds; ++i) {
      hammer.run("BEGIN IMMEDIATE");
      hammer.run("UPDATE run SET event_passes = event_passes + 1 WHERE pipeline = 'shared'");
      hammer.run("COMMIT");
    }
    return 0;
  }));
  for (const int child : children) {
    CHECK(wait_for_child(child) == 0);
  }
  const auto store = open_store(path);
  CHECK(store->run({"one", 1}).value().last_seq == Seq{rounds + 1});
  CHECK(store->raw_history({"two", 1}).value().size() == rounds + 1);
  CHECK(store->inbox({"shared", 1}, 10 * rounds).value().size() == 2 * rounds);
  CHECK(store->run({"shared", 1}).value().summary.passes.event == rounds);
}

TEST_CASE("S3: damaged files are refused with path and cause, unchanged") {
  const TempFolder folder;
  const std::string path = make_store(folder);
  const std::string good = bytes_of(path);
  REQUIRE(good.size() > 10 * 4'096);

  SUBCASE("zero length") {
    write_bytes(path, "");
    CHECK(contains(refusal_of({.path = path}), "store_damaged: "));
  }
  SUBCASE("no database") {
    write_bytes(path, std::string(5'000, 'x'));
    CHECK(contains(refusal_of({.path = path}), "is no SQLite database"));
  }
  SUBCASE("a piece of the header") {
    write_bytes(path, good.substr(0, 60));
    CHECK(contains(refusal_of({.path = path}), "is no SQLite database"));
  }
  SUBCASE("damaged header") {
    std::string bytes = good;
    bytes.replace(16, 8, "\x13\x57\x9b\xdf\x02\x46\x8a\xce");
    write_bytes(path, bytes);
    CHECK(contains(refusal_of({.path = path}), "store_damaged: "));
  }
  SUBCASE("damaged page") {
    for (const std::size_t page : {std::size_t{1}, std::size_t{5}, good.size() / 4'096 - 1}) {
      std::string bytes = good;
      bytes.replace(page * 4'096, 4'096, std::string(4'096, '\x5a'));
      write_bytes(path, bytes);
      CHECK(contains(refusal_of({.path = path}), "store_damaged: "));
    }
  }
  SUBCASE("half a file") {
    write_bytes(path, good.substr(0, good.size() / 2));
    CHECK(contains(refusal_of({.path = path}), "store_damaged: "));
  }
  SUBCASE("another program's database") {
    RawSql{path}.run("PRAGMA application_id = 7");
    CHECK(contains(refusal_of({.path = path}), "application id 7"));
  }
  SUBCASE("a schema without one of its tables") {
    RawSql{path}.run("DROP TABLE store");
    CHECK(contains(refusal_of({.path = path}), "store_damaged: "));
  }
}

TEST_CASE("S3: a log whose file is gone is no new store") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  write_bytes(path + "-wal", "frames");
  const auto store = open_sqlite_store({.path = path});
  CHECK(code_of(store) == "store_damaged");
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("S3: a store that is deleted or replaced while running is refused from then on") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  const auto store = open_store(path);
  const RunRow row = write_one<RunStartedReply>(*store, start_of("p")).value().row;

  std::filesystem::remove(path);
  SUBCASE("deleted") {}
  SUBCASE("replaced") {
    write_bytes(path, "another");
  }
  const auto refused = store->write({append_to(row)});
  CHECK(code_of(refused) == "store_damaged");
  CHECK(contains(refused.error().message, path));
  CHECK(code_of(store->run(row.run)) == "store_damaged");
  CHECK(code_of(store->data_version()) == "store_damaged");
}

TEST_CASE("S3: a damaged pass is named, its bytes stay readable for verify") {
  const TempFolder folder;
  const std::string path = make_store(folder);
  RawSql{path}.run("UPDATE pass SET events = x'017f' WHERE seq = 1");
  const auto store = open_store(path);
  const auto history = store->history({"p", 1}, Seq{0});
  CHECK(code_of(history) == "store_damaged");
  CHECK(contains(history.error().message, "pass 1 of run p/1"));
  CHECK(store->raw_history({"p", 1}).value().at(0).events == "\x01\x7f");
}

TEST_CASE("S4: a newer schema is refused and the file's bytes stay") {
  const TempFolder folder;
  const std::string path = make_store(folder);
  SUBCASE("in the file") {
    RawSql{path}.run("PRAGMA user_version = 99");
    CHECK(contains(refusal_of({.path = path}), "store_newer: "));
  }
  SUBCASE("still in the log") {
    RawSql newer{path};
    newer.run("PRAGMA user_version = 99");
    CHECK(contains(refusal_of({.path = path}), "it has schema 99"));
  }
}

TEST_CASE("S5: an older schema is migrated, on a real old file") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  write_bytes(path, "");
  RawSql{path}.run(bytes_of(source_folder() + "/tests/persistence/schema_1.dump"));
  const RunId done{"done", 1};
  const RunId gate{"gate", 1};
  {
    const auto store = open_store(path);
    CHECK(store->runs().value().size() == 3);
    const RunRow row = store->run(done).value();
    const auto history = store->history(done, Seq{0}).value();
    REQUIRE(history.size() == row.last_seq.value);
    CHECK(history.back().checksum == row.last_checksum);
    CHECK(history.back().pass.events.back() == Event{RunEnded{RunState::succeeded}});
    CHECK(store->outputs(done, {NodeIndex{0}, NodeIndex{1}}).value() ==
          std::vector<NodeOutput>{{NodeIndex{1}, Attempt{1}, "{\"rows\":3}\n"}});
  }
  CHECK(RawSql{path}.number("PRAGMA user_version") == 3);

  const auto store = open_store(path);
  const auto rows = store->inbox(gate, 10).value();
  REQUIRE(rows.size() == 3);
  // What waits since before counts as the first.
  const std::string long_id = std::get<NodeDoneInput>(rows[1].message).node;
  REQUIRE(long_id.size() == 250);
  for (const PutInbox& again : {done_of(gate, "a"), done_of(gate, long_id), stop_of(gate)}) {
    CHECK(write_one<InboxReply>(*store, again).value().fate == InboxFate::waiting);
  }
  CHECK(write_one<InboxReply>(*store, done_of(gate, "b", "first")).value().fate ==
        InboxFate::known_request);
  CHECK(write_one<InboxReply>(*store, done_of(gate, "b")).value().is_stored());
}

TEST_CASE("S5: of several stops and reports that wait in an older store the first is named") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  write_bytes(path, "");
  RawSql{path}.run(bytes_of(source_folder() + "/tests/persistence/schema_1.dump"));
  RawSql{path}.run("INSERT INTO inbox (run, at, message) SELECT run, at, message FROM inbox");
  const auto store = open_store(path);
  CHECK(store->inbox({"gate", 1}, 10).value().size() == 6);
  CHECK(RawSql{path}.number("SELECT sum(id) FROM inbox WHERE subject IS NOT NULL") == 1 + 2 + 3);
}

TEST_CASE("T8: a crash right after an append leaves neither its inbox row nor a second pass") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  const int status = run_in_child([&] {
    const auto store = open_store(path);
    const RunRow row = write_one<RunStartedReply>(*store, start_of("p")).value().row;
    if (!write_one<InboxReply>(*store, stop_of(row.run))) {
      return 1;
    }
    AppendPass append = append_to(row, {StopRequested{"enough"}});
    append.consumed = {store->inbox(row.run, 1).value().at(0).id};
    if (!write_one<AppendReply>(*store, append)) {
      return 2;
    }
    return ::kill(::getpid(), SIGKILL);
  });
  CHECK(status == -SIGKILL);
  const auto store = open_store(path);
  CHECK(store->inbox({"p", 1}, 10).value().empty());
  CHECK(store->history({"p", 1}, Seq{0}).value().size() == 2);
}

TEST_CASE("removing runs leaves no row of theirs in any table") {
  const TempFolder folder;
  const std::string path = folder / "store.db";
  const auto store = open_store(path);
  StartRun start = start_of("p");
  start.request_id = "start";
  RunRow row = started(*store, start);
  REQUIRE(write_one<InboxReply>(*store, report_of(row.run, "report")));
  AppendPass append = append_to(row);
  append.outputs = {{NodeIndex{1}, Attempt{1}, "1"}};
  REQUIRE(write_one<AppendReply>(*store, append));
  ended(*store, store->run(row.run).value());
  RawSql raw{path};
  raw.run("INSERT INTO snapshot (run, seq, format, checksum, body) VALUES (1, 1, 1, 0, x'')");
  // The end of a run takes its messages along; one that is there all the same goes now.
  raw.run("INSERT INTO inbox (run, at, message) VALUES (1, 1, x'')");
  REQUIRE(write_one<PruneReply>(*store, PruneRuns{wall(10'000), 1}));
  for (const std::string table : {"run", "pass", "snapshot", "output", "inbox", "inbox_request",
                                  "start_request", "definition"}) {
    CAPTURE(table);
    CHECK(raw.number("SELECT count(*) FROM " + table) == 0);
  }
  CHECK(raw.number("SELECT next_iteration FROM pipeline") == 2);
}

TEST_CASE("a writer that meets a lock too long says so and has written nothing") {
  const TempFolder folder;
  const std::string path = make_store(folder);
  const auto store = open_sqlite_store({.path = path, .busy_timeout = Duration{1}});
  REQUIRE(store);
  const RunRow row = (*store)->run({"p", 1}).value();
  RawSql other{path};
  other.run("BEGIN IMMEDIATE");
  CHECK(code_of((*store)->write({append_to(row)})) == "store_unavailable");
  CHECK((*store)->run(row.run).value() == row);
  other.run("ROLLBACK");
  CHECK(write_one<AppendReply>(**store, append_to(row)));
}

TEST_CASE("a store that has been read from holds no lock") {
  const TempFolder folder;
  const std::string path = make_store(folder);
  const auto reader = open_store(path);
  REQUIRE(reader->runs());
  REQUIRE(reader->history({"p", 1}, Seq{0}));
  REQUIRE(reader->latest_run("p"));
  RawSql other{path};
  other.run("UPDATE run SET term = 2");
  // Busy would be 1 if a reader still stood in the log.
  CHECK(other.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0);
  CHECK(reader->run({"p", 1}).value().term == Term{2});
}
