#include "persistence/sqlite_lease_store.hpp"

#include "messages/limits.hpp"
#include "persistence/file_identity.hpp"
#include "persistence/sqlite_db.hpp"
#include "platform/process.hpp"
#include "sql/lease_sql.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace stagecall {
namespace {

constexpr std::uint32_t kApplicationId = 0x53544C53;  // "STLS"
constexpr std::uint32_t kFormat = 1;

/// A row as far as others need it.
struct Lease {
  LeaseToken token;
  std::int64_t expires = 0;
  ReplicaIdentity holder;
};

std::int64_t milliseconds_of(BootTime time) {
  return std::int64_t{time.time_since_epoch().count()};
}

tl::unexpected<Error> unavailable(Error error) {
  error.code = ErrorCode::lease_unavailable;
  return tl::unexpected<Error>{std::move(error)};
}

// ---- The file. It holds nothing that must survive, so what is damaged is made anew: for leases
// that is what FLUSHALL is in Redis, and the fence in the store covers it. ----

/// A file that something else wrote is never touched.
Result<void> check_owner(const SqliteDb& db) {
  const auto header = db.header();
  if (!header) {
    return tl::unexpected<Error>{header.error()};
  }
  const bool is_ours =
      header->kind == SqliteHeader::Kind::empty || header->application_id == kApplicationId;
  if (!is_ours) {
    return fail(ErrorCode::lease_unavailable,
                "lease store " + db.path() + " refused: the file belongs to another program");
  }
  if (header->user_version > kFormat) {
    return fail(ErrorCode::store_newer, "lease store " + db.path() + " refused: it has format " +
                                            std::to_string(header->user_version) +
                                            ", this release knows " + std::to_string(kFormat));
  }
  return {};
}

Result<void> set_up(SqliteDb& db) {
  // Without a sync: a power loss ends all leases anyway. A rollback journal, since the log of a
  // file that was made anew must never meet its predecessor's.
  auto done = db.script("PRAGMA synchronous = OFF; PRAGMA journal_mode = TRUNCATE");
  if (done) {
    done = db.begin_immediate();
  }
  if (done) {
    done = db.script(lease_sql::kSchema);
  }
  if (done) {
    done = db.script("PRAGMA application_id = " + std::to_string(kApplicationId) +
                     "; PRAGMA user_version = " + std::to_string(kFormat));
  }
  if (done) {
    done = db.commit();
  }
  const auto checked = done ? db.scalar("PRAGMA quick_check(1)") : std::string{};
  if (!checked) {
    return tl::unexpected<Error>{checked.error()};
  }
  if (done && *checked != "ok") {
    return fail(ErrorCode::store_damaged, "lease store " + db.path() + ": " + *checked);
  }
  return done;
}

Result<SqliteDb> open_file(const std::string& path) {
  if (!identify_file(path)) {
    // Whoever is faster makes it; SQLite takes an empty file for an empty database.
    static_cast<void>(create_private_file(path));
  }
  auto db = SqliteDb::open({.path = path, .busy_timeout = kLimits.lease_ttl / 10});
  if (db) {
    auto done = check_owner(*db);
    if (done) {
      done = set_up(*db);
    }
    if (!done) {
      return tl::unexpected<Error>{std::move(done).error()};
    }
  }
  return db;
}

/// Removes a damaged file, unless another process has already put a new one in its place. Who
/// still has the old one open sees in its next call that the path means another file.
void discard(const std::string& path, const FileIdentity& damaged) {
  const auto now = identify_file(path);
  if (now && now->is_same_file(damaged)) {
    ::unlink((path + "-journal").c_str());
    ::unlink(path.c_str());
  }
}

// ---- The leases ----

class SqliteLeaseStore final : public LeaseStore {
 public:
  SqliteLeaseStore(std::string path, ReplicaIdentity holder, const Clock& clock)
      : path_(std::move(path)), holder_(std::move(holder)), clock_(clock) {}

  Result<void> ensure_open();

  Result<std::vector<LeaseVerdict>> acquire(const std::vector<LeaseRequest>& requests,
                                            Duration ttl) override;
  Result<std::vector<LeaseVerdict>> renew(const std::vector<LeaseRequest>& requests,
                                          Duration ttl) override;
  Result<std::vector<LeaseVerdict>> release(const std::vector<LeaseRequest>& requests) override;
  Result<std::vector<ReplicaIdentity>> holders(const std::vector<RunId>& runs) override;
  Result<std::uint64_t> draw_number() override;

 private:
  /// One transaction that asks for each request. Unless it was committed, to the file that the path
  /// still means, nothing of it counts.
  template <class Answer, class Request, class Ask>
  Result<std::vector<Answer>> in_transaction(const std::vector<Request>& requests, Ask ask);
  template <class Answer, class Request, class Ask>
  Result<std::vector<Answer>> ask_all(const std::vector<Request>& requests, Ask ask);

  Result<LeaseVerdict> acquire_one(const LeaseRequest& request, BootTime now);
  Result<LeaseVerdict> extend_one(const LeaseRequest& request, BootTime now);
  Result<LeaseVerdict> release_one(const LeaseRequest& request, BootTime now);
  Result<std::optional<Lease>> read(const RunId& run);
  bool holds(const Lease& lease, BootTime now);
  bool is_gone(const ReplicaIdentity& replica);

  std::string path_;
  ReplicaIdentity holder_;
  const Clock& clock_;
  Duration ttl_ = kLimits.lease_ttl;
  std::optional<SqliteDb> db_;
  FileIdentity identity_;
  std::map<ReplicaIdentity, bool> gone_;  // asked during this call
};

Result<void> SqliteLeaseStore::ensure_open() {
  const auto now = identify_file(path_);
  if (db_ && now && now->is_same_file(identity_)) {
    return {};
  }
  db_.reset();
  const auto before = identify_file(path_);
  auto db = open_file(path_);
  if (!db && before && db.error().code == ErrorCode::store_damaged) {
    discard(path_, *before);
    db = open_file(path_);
  }
  const auto identity = identify_file(path_);
  if (!db || !identity) {
    return unavailable(db ? identity.error() : db.error());
  }
  identity_ = *identity;
  db_ = std::move(*db);
  const auto forgotten = db_->run(lease_sql::kForgetExpired,
                                  {holder_.process.boot_id, milliseconds_of(clock_.boot())});
  return forgotten ? Result<void>{} : unavailable(forgotten.error());
}

template <class Answer, class Request, class Ask>
Result<std::vector<Answer>> SqliteLeaseStore::in_transaction(const std::vector<Request>& requests,
                                                             Ask ask) {
  if (auto open = ensure_open(); !open) {
    return tl::unexpected<Error>{std::move(open).error()};
  }
  gone_.clear();
  db_->set_busy_timeout(std::max(ttl_ / 10, Duration{1}));
  if (auto begun = db_->begin_immediate(); !begun) {
    return unavailable(std::move(begun).error());
  }
  auto answers = ask_all<Answer>(requests, ask);
  if (answers) {
    if (auto done = db_->commit(); !done) {
      answers = tl::unexpected<Error>{std::move(done).error()};
    }
  }
  if (!answers) {
    // Closing rolls back. The next call opens it again and then looks for damage, too.
    db_.reset();
    return unavailable(std::move(answers).error());
  }
  if (const auto now = identify_file(path_); !now || !now->is_same_file(identity_)) {
    return fail(ErrorCode::lease_unavailable,
                "lease store " + path_ + " was replaced meanwhile; asked again at the next call");
  }
  return answers;
}

template <class Answer, class Request, class Ask>
Result<std::vector<Answer>> SqliteLeaseStore::ask_all(const std::vector<Request>& requests,
                                                      Ask ask) {
  std::vector<Answer> answers;
  answers.reserve(requests.size());
  for (const Request& request : requests) {
    Result<Answer> answer = ask(request);
    if (!answer) {
      return tl::unexpected<Error>{std::move(answer).error()};
    }
    answers.push_back(std::move(*answer));
  }
  return answers;
}

Result<std::vector<LeaseVerdict>> SqliteLeaseStore::acquire(
    const std::vector<LeaseRequest>& requests, Duration ttl) {
  ttl_ = ttl;
  return in_transaction<LeaseVerdict>(
      requests, [this, now = clock_.boot()](const auto& one) { return acquire_one(one, now); });
}

Result<std::vector<LeaseVerdict>> SqliteLeaseStore::renew(const std::vector<LeaseRequest>& requests,
                                                          Duration ttl) {
  ttl_ = ttl;
  return in_transaction<LeaseVerdict>(
      requests, [this, now = clock_.boot()](const auto& one) { return extend_one(one, now); });
}

Result<std::vector<LeaseVerdict>> SqliteLeaseStore::release(
    const std::vector<LeaseRequest>& requests) {
  return in_transaction<LeaseVerdict>(
      requests, [this, now = clock_.boot()](const auto& one) { return release_one(one, now); });
}

Result<std::vector<ReplicaIdentity>> SqliteLeaseStore::holders(const std::vector<RunId>& runs) {
  return in_transaction<ReplicaIdentity>(
      runs, [this, now = clock_.boot()](const RunId& run) -> Result<ReplicaIdentity> {
        auto lease = read(run);
        if (!lease) {
          return tl::unexpected<Error>{std::move(lease).error()};
        }
        const bool is_held = *lease && holds(**lease, now);
        return is_held ? std::move((*lease)->holder) : ReplicaIdentity{};
      });
}

Result<std::uint64_t> SqliteLeaseStore::draw_number() {
  const std::vector<std::int64_t> least{least_number(clock_.wall())};
  auto drawn =
      in_transaction<std::uint64_t>(least, [this](std::int64_t number) -> Result<std::uint64_t> {
        auto row = db_->query(lease_sql::kDraw, {number});
        const auto found = row.next();
        if (!found) {
          return tl::unexpected<Error>{found.error()};
        }
        return row.number(0);
      });
  return drawn ? Result<std::uint64_t>{drawn->front()} : tl::unexpected<Error>{drawn.error()};
}

Result<LeaseVerdict> SqliteLeaseStore::acquire_one(const LeaseRequest& request, BootTime now) {
  const auto lease = read(request.run);
  if (!lease) {
    return tl::unexpected<Error>{lease.error()};
  }
  if (*lease && holds(**lease, now)) {
    return (*lease)->token == request.token ? extend_one(request, now) : LeaseVerdict::busy;
  }
  const ProcessIdentity& process = holder_.process;
  const auto taken =
      db_->run(lease_sql::kTake,
               {request.run.text(), request.token, milliseconds_of(now + ttl_), process.boot_id,
                holder_.replica, holder_.incarnation, process.host, process.pid,
                sqlite_value(process.start_time), sqlite_value(clock_.wall())});
  return taken ? Result<LeaseVerdict>{LeaseVerdict::granted} : tl::unexpected<Error>{taken.error()};
}

Result<LeaseVerdict> SqliteLeaseStore::extend_one(const LeaseRequest& request, BootTime now) {
  const auto done =
      db_->run(lease_sql::kExtend, {request.run.text(), request.token, milliseconds_of(now + ttl_),
                                    holder_.process.boot_id, milliseconds_of(now)});
  if (!done) {
    return tl::unexpected<Error>{done.error()};
  }
  return db_->changes() == 1 ? LeaseVerdict::granted : LeaseVerdict::lost;
}

Result<LeaseVerdict> SqliteLeaseStore::release_one(const LeaseRequest& request, BootTime now) {
  const auto done = db_->run(lease_sql::kRelease, {request.run.text(), request.token,
                                                   holder_.process.boot_id, milliseconds_of(now)});
  if (!done) {
    return tl::unexpected<Error>{done.error()};
  }
  return db_->changes() == 1 ? LeaseVerdict::granted : LeaseVerdict::lost;
}

Result<std::optional<Lease>> SqliteLeaseStore::read(const RunId& run) {
  auto row = db_->query(lease_sql::kRead, {run.text()});
  const auto found = row.next();
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  if (!*found) {
    return std::nullopt;
  }
  return Lease{.token = row.bytes(0),
               .expires = row.integer(1),
               .holder = {.replica = row.bytes(3),
                          .incarnation = row.bytes(4),
                          .process = {.host = row.bytes(5),
                                      .boot_id = row.bytes(2),
                                      .pid = row.integer(6),
                                      .start_time = row.number(7)}}};
}

bool SqliteLeaseStore::holds(const Lease& lease, BootTime now) {
  return lease.holder.process.boot_id == holder_.process.boot_id &&
         lease.expires > milliseconds_of(now) && !is_gone(lease.holder);
}

bool SqliteLeaseStore::is_gone(const ReplicaIdentity& replica) {
  const auto [known, is_new] = gone_.try_emplace(replica, false);
  if (is_new) {
    known->second = liveness_of(replica) == Liveness::gone;
  }
  return known->second;
}

}  // namespace

Result<std::unique_ptr<LeaseStore>> open_sqlite_lease_store(const std::string& path,
                                                            const ReplicaIdentity& holder,
                                                            const Clock& clock) {
  auto store = std::make_unique<SqliteLeaseStore>(path, holder, clock);
  if (auto open = store->ensure_open(); !open) {
    return tl::unexpected<Error>{std::move(open).error()};
  }
  return store;
}

}  // namespace stagecall
