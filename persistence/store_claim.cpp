#include "persistence/store_claim.hpp"

#include "messages/limits.hpp"
#include "persistence/codec.hpp"
#include "persistence/redis_lease_store.hpp"
#include "persistence/sqlite_db.hpp"
#include "persistence/store_paths.hpp"
#include "sql/store_sql.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stagecall {
namespace {

tl::unexpected<Error> unavailable(const std::string& path) {
  return fail(ErrorCode::store_unavailable, "cannot lock " + path + ": " + std::strerror(errno));
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::store_unavailable, "cannot make " + path + ": " + std::strerror(errno));
  }
  return {};
}

Result<UniqueFd> open_lock(const std::string& path) {
  UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!file) {
    return unavailable(path);
  }
  return file;
}

/// Of the open file, not of the process: two engines in one process exclude each other as well. One
/// that is held changes its kind in one step.
Result<void> lock(const UniqueFd& file, int command, short kind, const std::string& path) {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  while (::fcntl(file.get(), command, &whole) != 0) {
    if (errno != EINTR) {
      const bool is_held = errno == EAGAIN || errno == EACCES;
      return is_held ? fail(ErrorCode::lease_busy, path + " is locked") : unavailable(path);
    }
  }
  return {};
}

/// Alone, or lease_busy.
Result<void> lock_alone(const UniqueFd& file, const std::string& path) {
  return lock(file, F_OFD_SETLK, F_WRLCK, path);
}

/// Waits for who has it alone: that is never for long.
Result<void> lock_shared(const UniqueFd& file, const std::string& path) {
  return lock(file, F_OFD_SETLKW, F_RDLCK, path);
}

// ---- The name ----

std::string first_line(const UniqueFd& file) {
  std::array<char, 64> text{};
  const auto size = ::pread(file.get(), text.data(), text.size(), 0);
  const std::string_view read{text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  return std::string{read.substr(0, read.find('\n'))};
}

Result<UniqueFd> take_name(const std::string& folder, const std::string& replica) {
  if (auto made = make_folder(folder); !made) {
    return tl::unexpected<Error>{std::move(made).error()};
  }
  // By a hash: a name may hold any bytes.
  const std::string path = folder + "/" + content_hash(replica);
  auto file = open_lock(path);
  if (!file) {
    return file;
  }
  if (auto locked = lock_alone(*file, path); !locked) {
    if (locked.error().code != ErrorCode::lease_busy) {
      return tl::unexpected<Error>{std::move(locked).error()};
    }
    const std::string holder = first_line(*file);
    return fail(ErrorCode::invalid_argument,
                "replica \"" + replica + "\" of process " + std::to_string(::getpid()) +
                    " refused: process " + (holder.empty() ? "unknown" : holder) +
                    " has that name at this store; give each replica its own");
  }
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file->get(), 0) != 0 ||
      ::pwrite(file->get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return unavailable(path);
  }
  return file;
}

// ---- The authority ----

std::string described(const std::string& authority) {
  return authority == kLeaseFileAuthority ? "the file beside it" : authority;
}

Result<std::string> recorded_authority(SqliteDb& db) {
  auto row = db.query(store_sql::kReadSetting, {std::string_view{"lease_authority"}});
  const auto found = row.next();
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  return *found ? row.bytes(0) : std::string{};
}

Result<void> change_authority(const ClaimOptions& options, SqliteDb& db, const UniqueFd& file,
                              const std::string& path, const std::string& recorded) {
  if (auto alone = lock_alone(file, path); !alone) {
    return alone.error().code != ErrorCode::lease_busy
               ? alone
               : fail(ErrorCode::lease_authority,
                      "store " + options.store_path + " refused: its leases are kept by " +
                          described(recorded) + " and other engines have it open; this one names " +
                          described(options.authority) +
                          "; give all the same --leases, or end the others first");
  }
  auto done = db.run(store_sql::kSetLeaseAuthority, {options.authority});
  if (done) {
    done = db.commit();
  }
  // Shared only once it is durable: until then nobody may take the old one for agreed.
  return done ? lock_shared(file, path) : done;
}

/// In a transaction, so that of several who come at once one is the first.
Result<void> settle_authority(const ClaimOptions& options, SqliteDb& db, const UniqueFd& file,
                              const std::string& path) {
  if (auto begun = db.begin_immediate(); !begun) {
    return begun;
  }
  const auto recorded = recorded_authority(db);
  if (!recorded) {
    return tl::unexpected<Error>{recorded.error()};
  }
  return *recorded == options.authority ? lock_shared(file, path)
                                        : change_authority(options, db, file, path, *recorded);
}

Result<UniqueFd> agree_on_authority(const ClaimOptions& options, const std::string& path) {
  // Closed at the end, with a transaction that it may be in.
  auto db = SqliteDb::open({.path = options.store_path, .busy_timeout = kLimits.busy_timeout});
  if (!db) {
    return tl::unexpected<Error>{std::move(db).error()};
  }
  const auto agrees = [&]() -> Result<bool> {
    return recorded_authority(*db).map(
        [&](const std::string& recorded) { return recorded == options.authority; });
  };
  // As a rule all agree: then nothing is written, and no lock of the store waited for.
  auto is_agreed = agrees();
  if (is_agreed && *is_agreed) {
    auto file = open_lock(path);
    const auto locked = file ? lock_shared(*file, path) : tl::unexpected<Error>{file.error()};
    if (!locked) {
      return tl::unexpected<Error>{locked.error()};
    }
    // It may have been changed before the lock was ours; from now on it stays.
    is_agreed = agrees();
    if (is_agreed && *is_agreed) {
      return file;
    }
  }
  if (!is_agreed) {
    return tl::unexpected<Error>{std::move(is_agreed).error()};
  }
  auto file = open_lock(path);
  const auto settled =
      file ? settle_authority(options, *db, *file, path) : tl::unexpected<Error>{file.error()};
  return settled ? std::move(file) : tl::unexpected<Error>{settled.error()};
}

}  // namespace

std::string lease_authority_of(const std::vector<RedisServer>& servers,
                               const std::string& store_id) {
  if (servers.empty()) {
    return kLeaseFileAuthority;
  }
  std::vector<std::string> names;
  for (const RedisServer& server : servers) {
    names.push_back(server.name());
  }
  std::sort(names.begin(), names.end());
  std::string text = "redis";
  for (const std::string& name : names) {
    text += " " + name;
  }
  return text + " under " + redis_key_prefix(store_id);
}

Result<StoreClaim> claim_store(const ClaimOptions& options) {
  const std::string folder = store_folder(options.store_path);
  if (auto made = make_folder(folder); !made) {
    return tl::unexpected<Error>{std::move(made).error()};
  }
  auto authority = agree_on_authority(options, folder + "/authority.lock");
  if (!authority) {
    return tl::unexpected<Error>{std::move(authority).error()};
  }
  auto name = options.replica.empty() ? Result<UniqueFd>{UniqueFd{}}
                                      : take_name(folder + "/replicas", options.replica);
  if (!name) {
    return tl::unexpected<Error>{std::move(name).error()};
  }
  return StoreClaim{*std::move(authority), *std::move(name)};
}

}  // namespace stagecall
