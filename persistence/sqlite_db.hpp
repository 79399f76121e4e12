// RAII over SQLite's C interface: a connection with its prepared statements, queries, transactions.
// With its .cpp the only place that knows sqlite3.h. Says what failed; decides nothing.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

struct sqlite3;
struct sqlite3_stmt;

namespace stagecall {

struct SqliteBlob {
  explicit SqliteBlob(std::string_view from) : bytes(from) {}
  std::string_view bytes;
};

/// What a parameter is bound to; monostate is NULL. Unsigned 64-bit numbers keep their bits.
using SqliteValue = std::variant<std::monostate, std::int64_t, std::string_view, SqliteBlob>;

inline SqliteValue sqlite_value(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}
inline SqliteValue sqlite_value(WallTime time) {
  return std::int64_t{time.time_since_epoch().count()};
}
inline SqliteValue sqlite_value(const std::optional<WallTime>& time) {
  return time ? sqlite_value(*time) : SqliteValue{};
}

class SqliteDb;

/// One execution of a prepared statement; ends it when it goes out of scope. Columns count from 0
/// and may be read after next() has returned true, until it is called again.
class SqliteQuery {
 public:
  SqliteQuery(SqliteQuery&& other) noexcept;
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(SqliteQuery&&) = delete;
  ~SqliteQuery();

  /// False: no further row.
  Result<bool> next();

  std::int64_t integer(int column) const;
  std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  WallTime time(int column) const { return WallTime{Duration{integer(column)}}; }
  std::optional<WallTime> optional_time(int column) const;
  /// Text or blob, as bytes.
  std::string bytes(int column) const;

 private:
  friend class SqliteDb;
  SqliteQuery(const SqliteDb& db, sqlite3_stmt* statement) : db_(&db), statement_(statement) {}

  const SqliteDb* db_;
  sqlite3_stmt* statement_;  // null: it could not be prepared
};

struct SqliteOpenOptions {
  std::string path;
  bool create = false;
  std::string vfs{};  ///< empty: the default
  Duration busy_timeout{0};
};

/// What a file says in its first 100 bytes.
struct SqliteHeader {
  enum class Kind : std::uint8_t {
    empty,   ///< a file of zero length, or its first bytes are all zero
    other,   ///< not a SQLite file
    sqlite,  ///< the numbers below are set
  };
  Kind kind = Kind::other;
  std::uint32_t user_version = 0;
  std::uint32_t application_id = 0;
};

/// A connection; belongs to one thread at a time. Error codes: store_damaged (not a database,
/// corrupt), store_unavailable (I/O, full, busy, permissions), limit_reached (too big), internal
/// (constraints, ill-formed SQL).
class SqliteDb {
 public:
  static Result<SqliteDb> open(const SqliteOpenOptions& options);
  SqliteDb(SqliteDb&&) noexcept = default;
  SqliteDb& operator=(SqliteDb&& other) noexcept;
  ~SqliteDb();

  const std::string& path() const { return path_; }
  bool is_read_only() const;
  /// Read from the file, past SQLite: looking at it changes and creates nothing.
  Result<SqliteHeader> header() const;
  void set_busy_timeout(Duration timeout);
  /// Whether closing the last connection moves the log into the file (it does by default).
  void set_checkpoint_on_close(bool on);

  /// Runs a script of any number of statements without parameters; their rows are dropped.
  Result<void> script(std::string_view sql);
  /// Starts one statement, prepared once and kept by its text, which must outlive the connection (a
  /// constant). Not while it is still running.
  SqliteQuery query(std::string_view sql, std::initializer_list<SqliteValue> values = {});
  /// Runs one statement to its end.
  Result<void> run(std::string_view sql, std::initializer_list<SqliteValue> values = {});
  /// First column of the first row of a statement that has one.
  Result<std::string> scalar(std::string_view sql);
  /// Rows changed by the last statement.
  std::int64_t changes() const;

  Result<void> begin_immediate();
  /// On an error nothing is committed (store_unavailable, rolled back), or nobody knows
  /// (outcome_unknown): then close this connection.
  Result<void> commit();
  /// False: the connection is in no known state; close it.
  bool rollback();

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  friend class SqliteQuery;

  SqliteDb(std::unique_ptr<sqlite3, Close> db, std::string path);
  sqlite3_stmt* prepared(std::string_view sql);
  Error error(std::string_view tried) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

}  // namespace stagecall
