#include "persistence/sqlite_db.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace stagecall {
namespace {

ErrorCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ErrorCode::store_damaged;
    case SQLITE_TOOBIG: return ErrorCode::limit_reached;
    case SQLITE_ERROR:
    case SQLITE_INTERNAL:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_MISUSE:
    case SQLITE_RANGE: return ErrorCode::internal;
    default: return ErrorCode::store_unavailable;
  }
}

Error describe(sqlite3* db, int code, std::string_view tried, const std::string& path) {
  // The message belongs to the last call on the connection; without one the code has to do.
  const char* said = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  return {code_of(code), "cannot " + std::string{tried} + " " + path + ": " + said +
                             " (SQLite code " + std::to_string(code) + ")"};
}

/// The values outlive the statement's run (SQLITE_STATIC) or are copied (SQLITE_TRANSIENT).
void bind(sqlite3_stmt* statement, std::initializer_list<SqliteValue> values,
          sqlite3_destructor_type lifetime) {
  int index = 0;
  for (const SqliteValue& value : values) {
    ++index;
    int result = SQLITE_OK;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      result = sqlite3_bind_int64(statement, index, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      // A null pointer would bind NULL.
      result = sqlite3_bind_text64(statement, index, text->empty() ? "" : text->data(),
                                   text->size(), lifetime, SQLITE_UTF8);
    } else if (const auto* blob = std::get_if<SqliteBlob>(&value)) {
      const std::string_view bytes = blob->bytes;
      result = sqlite3_bind_blob64(statement, index, bytes.empty() ? "" : bytes.data(),
                                   bytes.size(), lifetime);
    } else {
      result = sqlite3_bind_null(statement, index);
    }
    // What is too big or does not fit in memory stays NULL, which no column of ours takes.
    assert(result == SQLITE_OK || result == SQLITE_TOOBIG || result == SQLITE_NOMEM);
    static_cast<void>(result);
  }
}

void finish(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

std::string_view verb_of(sqlite3_stmt* statement) {
  return sqlite3_stmt_readonly(statement) != 0 ? "read from" : "write to";
}

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kUserVersionAt = 60;
constexpr std::size_t kApplicationIdAt = 68;
using HeaderBytes = std::array<char, 100>;

std::uint32_t big_endian(const HeaderBytes& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

}  // namespace

// ---- SqliteQuery ----

SqliteQuery::SqliteQuery(SqliteQuery&& other) noexcept
    : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)) {}

SqliteQuery::~SqliteQuery() {
  if (statement_ != nullptr) {
    finish(statement_);
  }
}

Result<bool> SqliteQuery::next() {
  if (statement_ == nullptr) {
    return tl::unexpected<Error>{db_->error("prepare a statement on")};
  }
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: return tl::unexpected<Error>{db_->error(verb_of(statement_))};
  }
}

std::int64_t SqliteQuery::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::optional<WallTime> SqliteQuery::optional_time(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL ? std::nullopt
                                                                : std::optional{time(column)};
}

std::string SqliteQuery::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string{} : std::string{data, static_cast<std::size_t>(size)};
}

// ---- SqliteDb ----

void SqliteDb::Close::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

void SqliteDb::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteDb::SqliteDb(std::unique_ptr<sqlite3, Close> db, std::string path)
    : path_(std::move(path)), db_(std::move(db)) {}

SqliteDb& SqliteDb::operator=(SqliteDb&& other) noexcept {
  // A connection closes only after its statements are gone.
  statements_ = std::move(other.statements_);
  db_ = std::move(other.db_);
  path_ = std::move(other.path_);
  return *this;
}

SqliteDb::~SqliteDb() = default;

Result<SqliteDb> SqliteDb::open(const SqliteOpenOptions& options) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (options.create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(options.path.c_str(), &opened, flags,
                                   options.vfs.empty() ? nullptr : options.vfs.c_str());
  std::unique_ptr<sqlite3, Close> db{opened};
  if (code != SQLITE_OK) {
    return tl::unexpected<Error>{describe(opened, code, "open", options.path)};
  }
  SqliteDb result{std::move(db), options.path};
  result.set_busy_timeout(options.busy_timeout);
  return result;
}

bool SqliteDb::is_read_only() const {
  return sqlite3_db_readonly(db_.get(), "main") == 1;
}

Result<SqliteHeader> SqliteDb::header() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  HeaderBytes bytes{};
  const int code = file == nullptr || file->pMethods == nullptr
                       ? SQLITE_CANTOPEN
                       : file->pMethods->xRead(file, bytes.data(), bytes.size(), 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) {
    return tl::unexpected<Error>{describe(nullptr, code, "read", path_)};
  }
  const std::string_view magic{bytes.data(), kMagic.size()};
  if (std::all_of(magic.begin(), magic.end(), [](char byte) { return byte == '\0'; })) {
    return SqliteHeader{SqliteHeader::Kind::empty};
  }
  if (code == SQLITE_IOERR_SHORT_READ || magic != kMagic) {
    return SqliteHeader{SqliteHeader::Kind::other};
  }
  return SqliteHeader{SqliteHeader::Kind::sqlite, big_endian(bytes, kUserVersionAt),
                      big_endian(bytes, kApplicationIdAt)};
}

void SqliteDb::set_busy_timeout(Duration timeout) {
  sqlite3_busy_timeout(db_.get(), static_cast<int>(timeout.count()));
}

void SqliteDb::set_checkpoint_on_close(bool on) {
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

Error SqliteDb::error(std::string_view tried) const {
  return describe(db_.get(), sqlite3_extended_errcode(db_.get()), tried, path_);
}

Result<void> SqliteDb::script(std::string_view sql) {
  const std::string text{sql};
  if (sqlite3_exec(db_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return tl::unexpected<Error>{error("prepare")};
  }
  return {};
}

sqlite3_stmt* SqliteDb::prepared(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) {
    return found->second.get();
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK) {
    statements_.emplace(sql, statement);
  }
  return statement;
}

SqliteQuery SqliteDb::query(std::string_view sql, std::initializer_list<SqliteValue> values) {
  sqlite3_stmt* statement = prepared(sql);
  if (statement != nullptr) {
    assert(sqlite3_stmt_busy(statement) == 0);
    bind(statement, values, SQLITE_TRANSIENT);
  }
  return {*this, statement};
}

Result<void> SqliteDb::run(std::string_view sql, std::initializer_list<SqliteValue> values) {
  SqliteQuery query{*this, prepared(sql)};
  if (query.statement_ != nullptr) {
    bind(query.statement_, values, SQLITE_STATIC);
  }
  while (true) {
    const auto more = query.next();
    if (!more) {
      return tl::unexpected<Error>{more.error()};
    }
    if (!*more) {
      return {};
    }
  }
}

Result<std::string> SqliteDb::scalar(std::string_view sql) {
  auto rows = query(sql);
  const auto found = rows.next();
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  return *found ? rows.bytes(0) : std::string{};
}

std::int64_t SqliteDb::changes() const {
  return sqlite3_changes64(db_.get());
}

Result<void> SqliteDb::begin_immediate() {
  return run("BEGIN IMMEDIATE");
}

Result<void> SqliteDb::commit() {
  auto done = run("COMMIT");
  if (!done) {
    // Busy leaves the transaction as it was. Anything else may have struck after the commit was
    // written, and what is written may come to light when the log is read again.
    const bool busy = (sqlite3_extended_errcode(db_.get()) & 0xff) == SQLITE_BUSY;
    done.error().code =
        busy && rollback() ? ErrorCode::store_unavailable : ErrorCode::outcome_unknown;
  }
  return done;
}

bool SqliteDb::rollback() {
  // Some errors roll back by themselves; then there is nothing left to do.
  return sqlite3_get_autocommit(db_.get()) != 0 || run("ROLLBACK").has_value();
}

}  // namespace stagecall
