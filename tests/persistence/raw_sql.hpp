// A second hand on a store's file, past our own layer.
#pragma once

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace stagecall::testing {

class RawSql {
 public:
  explicit RawSql(const std::string& path) {
    REQUIRE(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
    sqlite3_busy_timeout(db_, 30'000);
  }
  RawSql(const RawSql&) = delete;
  RawSql& operator=(const RawSql&) = delete;
  ~RawSql() { sqlite3_close(db_); }

  void run(const std::string& sql) {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    REQUIRE_MESSAGE(code == SQLITE_OK, sqlite3_errmsg(db_));
  }

  /// First column of the first row.
  std::int64_t number(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    REQUIRE(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    const std::int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace stagecall::testing
