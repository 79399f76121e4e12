#include "persistence/codec.hpp"
#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <functional>
#include <memory>

namespace stagecall::testing {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* db) const { ::sqlite3_close(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

Database open_database(const std::string& path) {
  sqlite3* db = nullptr;
  REQUIRE(::sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  return Database{db};
}

void execute(sqlite3* db, const std::string& sql) {
  CAPTURE(sql);
  REQUIRE(::sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  REQUIRE(::sqlite3_changes(db) > 0);
}

/// The history of run 1 as stored, and back with checksums that fit it.
std::vector<Pass> read_passes(sqlite3* db) {
  sqlite3_stmt* query = nullptr;
  REQUIRE(::sqlite3_prepare_v2(db,
                               "SELECT seq, term, at, events FROM pass WHERE run=1 ORDER BY seq",
                               -1, &query, nullptr) == SQLITE_OK);
  std::vector<Pass> passes;
  while (::sqlite3_step(query) == SQLITE_ROW) {
    const auto* bytes = static_cast<const char*>(::sqlite3_column_blob(query, 3));
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(query, 3));
    auto events = decode_events({bytes, size});
    REQUIRE(events);
    passes.push_back({Seq{static_cast<std::uint64_t>(::sqlite3_column_int64(query, 0))},
                      Term{static_cast<std::uint64_t>(::sqlite3_column_int64(query, 1))},
                      WallTime{Duration{::sqlite3_column_int64(query, 2)}}, *std::move(events)});
  }
  ::sqlite3_finalize(query);
  return passes;
}

void write_passes(sqlite3* db, const std::vector<Pass>& passes) {
  std::uint64_t previous = 0;
  for (const Pass& pass : passes) {
    const std::string encoded = encode_events(pass.events);
    previous = checksum_of(previous, pass, encoded);
    sqlite3_stmt* update = nullptr;
    REQUIRE(::sqlite3_prepare_v2(
                db, "UPDATE pass SET term=?, checksum=?, events=? WHERE run=1 AND seq=?", -1,
                &update, nullptr) == SQLITE_OK);
    ::sqlite3_bind_int64(update, 1, static_cast<sqlite3_int64>(pass.term.value));
    ::sqlite3_bind_int64(update, 2, static_cast<sqlite3_int64>(previous));
    ::sqlite3_bind_blob(update, 3, encoded.data(), static_cast<int>(encoded.size()), nullptr);
    ::sqlite3_bind_int64(update, 4, static_cast<sqlite3_int64>(pass.seq.value));
    REQUIRE(::sqlite3_step(update) == SQLITE_DONE);
    ::sqlite3_finalize(update);
  }
  execute(db, "UPDATE run SET last_checksum=" +
                  std::to_string(static_cast<sqlite3_int64>(previous)) + " WHERE id=1");
}

/// A store with two ended runs, of which the first is damaged.
class VerifyFixture : public CliFixture {
 public:
  VerifyFixture() {
    const std::string command = R"("command":["sh","-c","exit 3"],"retry":{"max_attempts":2,)"
                                R"("delay":"1ms"})";
    REQUIRE(call({"run", file("p.json", one_node("p", command))}).exit_code == 1);
    REQUIRE(call({"run", file("q.json", one_node("q", R"("task":"noop")"))}).exit_code == 0);
    REQUIRE(call_json({"verify"}, 0)["violations"].empty());
  }

  void damage(const std::function<void(sqlite3*)>& change) {
    const Database db = open_database(store());
    change(db.get());
  }

  /// The rules that are broken, all by the first run.
  std::vector<std::string> broken_rules() {
    const auto value = call_json({"verify"}, 1);
    CHECK(value["runs"] == 2);
    CHECK(call({"verify", "q"}).exit_code == 0);
    CHECK(call({"verify", "p"}).exit_code == 1);
    std::vector<std::string> rules;
    for (const auto& violation : value["violations"]) {
      CHECK(violation["run"] == "p/1");
      CHECK(violation.contains("seq"));
      CHECK_FALSE(violation["text"].get<std::string>().empty());
      rules.push_back(violation["rule"]);
    }
    return rules;
  }

  bool breaks(const std::string& rule) {
    const auto rules = broken_rules();
    return std::find(rules.begin(), rules.end(), rule) != rules.end();
  }
};

TEST_CASE_FIXTURE(VerifyFixture, "verify misses a pass that was deleted") {
  SUBCASE("from the middle") {
    damage([](sqlite3* db) { execute(db, "DELETE FROM pass WHERE run=1 AND seq=2"); });
    CHECK(breaks("seq"));
  }
  SUBCASE("from the end") {
    damage([](sqlite3* db) {
      execute(db, "DELETE FROM pass WHERE run=1 AND seq=(SELECT max(seq) FROM pass WHERE run=1)");
    });
    CHECK(breaks("row"));
  }
}

TEST_CASE_FIXTURE(VerifyFixture, "T14: leftovers are shown and counted, and must have a cause") {
  const auto list_first_attempt = [](sqlite3* db) {
    execute(db, "INSERT INTO leftover VALUES (1, 0, 1, 7, 'gone', 1700000000000)");
  };
  SUBCASE("one that the history left") {
    damage([&](sqlite3* db) {
      auto passes = read_passes(db);
      for (Pass& pass : passes) {
        for (Event& event : pass.events) {
          if (auto* ended = std::get_if<AttemptEnded>(&event); ended != nullptr) {
            ended->confirmed = ended->attempt.value != 1;
          }
        }
      }
      write_passes(db, passes);
      list_first_attempt(db);
    });
    const auto verified = call_json({"verify"}, 0);
    CHECK(verified["violations"].empty());
    CHECK(verified["leftovers"] == 1);
    CHECK(contains(call({"verify"}).out, "1 leftovers"));
    const auto listed = call_json({"status", "p/1"}, 0)["leftovers"];
    REQUIRE(listed.size() == 1);
    CHECK(listed[0]["node"] == "only");
    CHECK(listed[0]["attempt"] == 1);
    CHECK(listed[0]["custodian"] == "gone");
  }
  SUBCASE("one that it did not") {
    damage(list_first_attempt);
    CHECK(broken_rules() == std::vector<std::string>{"leftover"});
  }
}

TEST_CASE_FIXTURE(VerifyFixture, "verify finds an attempt whose number was changed") {
  damage([](sqlite3* db) {
    auto passes = read_passes(db);
    bool changed = false;
    for (Pass& pass : passes) {
      for (Event& event : pass.events) {
        auto* submitted = std::get_if<AttemptSubmitted>(&event);
        if (submitted != nullptr && submitted->attempt.value == 2) {
          submitted->attempt.value = 1;
          changed = true;
        }
      }
    }
    REQUIRE(changed);
    write_passes(db, passes);
  });
  CHECK(breaks("event"));
}

TEST_CASE_FIXTURE(VerifyFixture, "verify finds a term that was lowered") {
  SUBCASE("in a pass") {
    damage([](sqlite3* db) {
      auto passes = read_passes(db);
      passes.back().term = Term{0};
      write_passes(db, passes);
    });
    CHECK(breaks("term"));
  }
  SUBCASE("in the run's row") {
    damage([](sqlite3* db) { execute(db, "UPDATE run SET term=0 WHERE id=1"); });
    CHECK(breaks("row"));
  }
}

TEST_CASE_FIXTURE(VerifyFixture, "verify finds flipped bytes") {
  SUBCASE("in what was decided") {
    damage([](sqlite3* db) {
      execute(db,
              "UPDATE pass SET events=CAST(substr(events,1,length(events)-1)||x'55' AS BLOB) "
              "WHERE run=1 AND seq=2");
    });
    CHECK(breaks("checksum"));
  }
  SUBCASE("in the format's version") {
    damage([](sqlite3* db) {
      execute(db,
              "UPDATE pass SET events=CAST(x'ff'||substr(events,2) AS BLOB) WHERE run=1 AND seq=2");
    });
    CHECK(breaks("decode"));
  }
  SUBCASE("in the time") {
    damage([](sqlite3* db) { execute(db, "UPDATE pass SET at=at+1 WHERE run=1 AND seq=1"); });
    CHECK(breaks("checksum"));
  }
}

TEST_CASE_FIXTURE(VerifyFixture, "verify finds a row that is not the fold of its history") {
  damage([](sqlite3* db) { execute(db, "UPDATE run SET state=3 WHERE id=1"); });
  CHECK(breaks("row"));
}

TEST_CASE_FIXTURE(VerifyFixture, "verify finds another definition than the one that was run") {
  damage([](sqlite3* db) {
    execute(db,
            "UPDATE definition SET body=replace(body,'exit 3','exit 4') "
            "WHERE hash=(SELECT definition FROM run WHERE id=1)");
  });
  CHECK(breaks("definition"));
}

TEST_CASE_FIXTURE(VerifyFixture, "status shows a damaged run as quarantined, and the others") {
  damage([](sqlite3* db) { execute(db, "DELETE FROM pass WHERE run=1 AND seq=2"); });
  const auto runs = call_json({"status"}, 0)["runs"];
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].contains("quarantined"));
  CHECK_FALSE(runs[1].contains("quarantined"));
}

}  // namespace
}  // namespace stagecall::testing
