#include "persistence/store_file.hpp"

#include "persistence/store_claim.hpp"
#include "platform/random.hpp"
#include "platform/unique_fd.hpp"
#include "sql/migrations.hpp"
#include "sql/store_sql.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stagecall {
namespace {

constexpr std::uint32_t kApplicationId = 0x53544743;  // "STGC"
constexpr std::uint64_t kSchema = kMigrations.size();

/// Up to this size the whole file is looked through when it is opened (a few milliseconds). Of
/// larger ones only the small tables that everything hangs on are: a bad page of history shows when
/// it is read, by SQLite or by the chain of checksums.
constexpr std::uint64_t kCheckWholeMax = std::uint64_t{8} << 20;
constexpr std::string_view kCheckWhole = "PRAGMA quick_check(1)";
constexpr std::array<std::string_view, 3> kCheckEssential{
    "PRAGMA quick_check('store')", "PRAGMA quick_check('pipeline')", "PRAGMA quick_check('run')"};

tl::unexpected<Error> damaged(const std::string& path, const std::string& cause) {
  return fail(ErrorCode::store_damaged, "store " + path + " refused: " + cause);
}

tl::unexpected<Error> newer(const std::string& path, std::uint64_t version) {
  return fail(ErrorCode::store_newer, "store " + path + " refused: it has schema " +
                                          std::to_string(version) + ", this release knows " +
                                          std::to_string(kSchema) + "; use the newer release");
}

// ---- Creation. Other processes see no file or a whole one: it is made under another name. ----

Result<void> migrate_step(SqliteDb& db, std::uint64_t from) {
  auto done = db.script(kMigrations[from]);
  if (done) {
    done = db.script("PRAGMA user_version = " + std::to_string(from + 1));
  }
  return done;
}

Result<void> fill_new_file(SqliteDb& db) {
  // Header and schema go into the file itself before there is a log, so that the header alone
  // always says whose file it is and how new.
  auto done = db.script("PRAGMA application_id = " + std::to_string(kApplicationId));
  if (done) {
    done = db.begin_immediate();
  }
  for (std::uint64_t from = 0; done && from < kSchema; ++from) {
    done = migrate_step(db, from);
  }
  if (done) {
    done = db.run(store_sql::kInsertSettings, {random_id(), std::string_view{kLeaseFileAuthority}});
  }
  if (done) {
    done = db.commit();
  }
  if (done) {
    done = db.script("PRAGMA journal_mode = WAL");
  }
  return done;
}

Result<void> write_new_file(const SqliteStoreOptions& options, const std::string& path) {
  auto made = create_private_file(path);
  if (!made) {
    return made;
  }
  auto db = SqliteDb::open({path, false, options.vfs, options.busy_timeout});
  if (!db) {
    return tl::unexpected<Error>{std::move(db).error()};
  }
  return fill_new_file(*db);
}

void sync_folder(const std::filesystem::path& folder) {
  const UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd) {
    ::fsync(fd.get());
  }
}

/// A log without its file is what remains of a store that was deleted; a new file would be read
/// together with it.
bool has_orphaned_log(const std::string& path) {
  struct ::stat status {};
  return (::stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0) ||
         ::stat((path + "-journal").c_str(), &status) == 0;
}

Result<void> create_store_file(const SqliteStoreOptions& options) {
  const std::filesystem::path path{options.path};
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return fail(ErrorCode::store_unavailable,
                "cannot create the folder of store " + options.path + ": " + failed.message());
  }
  if (has_orphaned_log(options.path)) {
    if (identify_file(options.path)) {
      return {};  // somebody created it since
    }
    return damaged(options.path,
                   "the file is gone but its log is there (" + options.path + "-wal)");
  }
  const std::string fresh = options.path + ".new-" + random_id().substr(0, 12);
  auto done = write_new_file(options, fresh);
  // Whoever comes second uses the file of the first.
  if (done && ::link(fresh.c_str(), options.path.c_str()) != 0 && errno != EEXIST) {
    done = fail(ErrorCode::store_unavailable,
                "cannot create store " + options.path + ": " + std::strerror(errno));
  }
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    ::unlink((fresh + suffix).c_str());
  }
  if (done) {
    sync_folder(folder);
  }
  return done;
}

// ---- Refusal ----

Result<void> check_header(const SqliteDb& db) {
  const std::string& path = db.path();
  const auto header = db.header();
  if (!header) {
    return tl::unexpected<Error>{header.error()};
  }
  switch (header->kind) {
    case SqliteHeader::Kind::empty: return damaged(path, "the file is empty");
    case SqliteHeader::Kind::other: return damaged(path, "the file is no SQLite database");
    case SqliteHeader::Kind::sqlite: break;
  }
  if (header->application_id != kApplicationId) {
    return damaged(path, "the database belongs to another program (application id " +
                             std::to_string(header->application_id) + ")");
  }
  if (header->user_version > kSchema) {
    return newer(path, header->user_version);
  }
  if (header->user_version == 0) {
    return damaged(path, "the database has no schema");
  }
  return {};
}

Result<void> check_pages(SqliteDb& db, std::string_view check) {
  const auto said = db.scalar(check);
  if (!said) {
    return tl::unexpected<Error>{said.error()};
  }
  if (*said != "ok") {
    return damaged(db.path(), "the database is damaged: " + *said);
  }
  return {};
}

Result<void> check_content(SqliteDb& db, std::uint64_t size) {
  if (size <= kCheckWholeMax) {
    return check_pages(db, kCheckWhole);
  }
  for (const std::string_view check : kCheckEssential) {
    if (auto good = check_pages(db, check); !good) {
      return good;
    }
  }
  return {};
}

// ---- Opening ----

Result<void> migrate(SqliteDb& db) {
  while (true) {
    const auto version = db.scalar("PRAGMA user_version");
    if (!version) {
      return tl::unexpected<Error>{version.error()};
    }
    const std::uint64_t from = std::stoull(*version);
    if (from > kSchema) {
      return newer(db.path(), from);
    }
    if (from == kSchema) {
      return {};
    }
    auto done = db.begin_immediate();
    // Another process may have been faster: what counts is the version under the lock.
    if (const auto again = db.scalar("PRAGMA user_version"); done && again != version) {
      db.rollback();
      continue;
    }
    if (done) {
      done = migrate_step(db, from);
    }
    if (done) {
      done = db.commit();
    }
    if (!done) {
      db.rollback();
      return done;
    }
  }
}

Result<void> prepare_connection(SqliteDb& db, const SqliteStoreOptions& options) {
  if (db.is_read_only()) {
    return fail(ErrorCode::store_unavailable,
                "store " + options.path + " refused: the file or its folder is read-only");
  }
  std::string pragmas =
      "PRAGMA foreign_keys = ON;"
      // Savepoints keep a journal of their own; it needs no file.
      "PRAGMA temp_store = MEMORY;"
      "PRAGMA cache_size = -65536;"
      // After a long reader let the log grow, it is cut back to this.
      "PRAGMA journal_size_limit = 16777216;";
  pragmas += options.durability == Durability::full ? "PRAGMA synchronous = FULL"
                                                    : "PRAGMA synchronous = NORMAL";
  return db.script(pragmas);
}

Result<void> check_and_prepare(SqliteDb& db, const SqliteStoreOptions& options,
                               std::uint64_t size) {
  auto done = check_header(db);
  if (done) {
    done = prepare_connection(db, options);
  }
  if (done) {
    done = check_content(db, size);
  }
  if (done) {
    done = migrate(db);
  }
  return done;
}

Result<std::string> read_setting(SqliteDb& db, std::string_view key) {
  auto query = db.query(store_sql::kReadSetting, {key});
  const auto found = query.next();
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  if (!*found) {
    return damaged(db.path(), "it does not say its " + std::string{key});
  }
  return query.bytes(0);
}

Result<StoreFile> read_settings(SqliteDb db, const FileIdentity& identity) {
  auto store_id = read_setting(db, "store_id");
  auto authority = read_setting(db, "lease_authority");
  if (!store_id || !authority) {
    return tl::unexpected<Error>{store_id ? authority.error() : store_id.error()};
  }
  db.set_checkpoint_on_close(true);
  return StoreFile{std::move(db), identity, std::move(*store_id), std::move(*authority)};
}

}  // namespace

Result<StoreFile> open_store_file(const SqliteStoreOptions& options) {
  if (options.path.empty()) {
    return fail(ErrorCode::invalid_argument, "cannot open a store without a path");
  }
  auto identity = identify_file(options.path);
  if (!identity && identity.error().code == ErrorCode::not_found && options.create) {
    if (auto created = create_store_file(options); !created) {
      return tl::unexpected<Error>{std::move(created).error()};
    }
    identity = identify_file(options.path);
  }
  if (!identity) {
    return tl::unexpected<Error>{std::move(identity).error()};
  }
  auto db = SqliteDb::open({options.path, false, options.vfs, options.busy_timeout});
  if (!db) {
    return tl::unexpected<Error>{std::move(db).error()};
  }
  // What is refused stays as it is: its log is not moved into it either.
  db->set_checkpoint_on_close(false);
  auto good = check_and_prepare(*db, options, identity->size);
  auto opened = good ? read_settings(std::move(*db), *identity)
                     : tl::unexpected<Error>{std::move(good).error()};
  if (!opened && opened.error().code == ErrorCode::internal) {
    // A statement that the schema does not bear: tables are missing or others.
    opened.error().code = ErrorCode::store_damaged;
  }
  return opened;
}

}  // namespace stagecall
