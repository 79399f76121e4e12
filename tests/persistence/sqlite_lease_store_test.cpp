#include "persistence/sqlite_lease_store.hpp"

#include "tests/persistence/fixtures.hpp"
#include "tests/persistence/lease_contract.hpp"
#include "tests/persistence/raw_sql.hpp"
#include "tests/persistence/set_clock.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

constexpr Duration kTtl{15'000};
const RunId kRun{"p", 1};

struct Leases {
  TempFolder folder;
  std::string path = folder / "store.db-leases";
  SetClock clock;
  LeaseContract contract{.connect = [this](const ReplicaIdentity& holder) { return open(holder); },
                         .let_pass = [this](Duration time) { clock.now += time.count(); }};

  std::unique_ptr<LeaseStore> open(const ReplicaIdentity& holder) {
    auto store = open_sqlite_lease_store(path, holder, clock);
    REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
    return std::move(*store);
  }
};

LeaseVerdict acquire(LeaseStore& store, const LeaseToken& token) {
  return store.acquire({{kRun, token}}, kTtl).value().at(0);
}

}  // namespace

TEST_CASE("L19: SQLite leases keep the contract of acquisition") {
  check_acquire(Leases{}.contract);
}
TEST_CASE("L19: SQLite leases keep the contract of renewal and release") {
  check_renew_and_release(Leases{}.contract);
}
TEST_CASE("L19: SQLite leases keep the contract of expiry") {
  check_expiry(Leases{}.contract);
}
TEST_CASE("L19: SQLite leases keep the contract of batches") {
  check_batches(Leases{}.contract);
}
TEST_CASE("L19: SQLite leases keep the contract of keys") {
  check_keys(Leases{}.contract);
}
TEST_CASE("L7: of increments under SQLite leases none is lost") {
  check_mutual_exclusion(Leases{}.contract);
}
TEST_CASE("L19: SQLite leases keep the contract of numbers") {
  check_numbers(Leases{}.contract);
}
TEST_CASE("L1: one of 10 parallel callers wins, nine are told busy, afterwards free") {
  check_parallel_acquire(Leases{}.contract);
}

TEST_CASE("a holder whose process is gone is replaced at once, one elsewhere is waited for") {
  Leases leases;
  ReplicaIdentity gone = replica("gone");
  gone.process.start_time += 1;
  ReplicaIdentity elsewhere = replica("elsewhere");
  elsewhere.process.host += "x";
  const auto third = leases.open(replica("third"));

  SUBCASE("gone") {
    CHECK(acquire(*leases.open(gone), "t1") == LeaseVerdict::granted);
    CHECK(third->holders({kRun}).value().at(0).incarnation.empty());
    CHECK(acquire(*third, "t3") == LeaseVerdict::granted);
  }
  SUBCASE("elsewhere") {
    CHECK(acquire(*leases.open(elsewhere), "t2") == LeaseVerdict::granted);
    CHECK(third->holders({kRun}).value().at(0) == elsewhere);
    CHECK(acquire(*third, "t3") == LeaseVerdict::busy);
  }
  SUBCASE("gone for real: the process that took it has ended") {
    CHECK(run_in_child([&] {
            ReplicaIdentity child = replica("child");
            child.process.pid = ::getpid();
            child.process.start_time = 0;  // no process has started then
            return acquire(*leases.open(child), "t4") == LeaseVerdict::granted ? 0 : 1;
          }) == 0);
    CHECK(acquire(*third, "t3") == LeaseVerdict::granted);
  }
}

TEST_CASE("a lease of another boot has expired") {
  Leases leases;
  ReplicaIdentity before = replica("before");
  before.process.boot_id = "another boot";
  before.process.host = "another host";  // else it would count as gone
  const auto now = leases.open(replica("now"));
  CHECK(acquire(*leases.open(before), "t1") == LeaseVerdict::granted);
  CHECK(now->holders({kRun}).value().at(0).incarnation.empty());
  CHECK(acquire(*now, "t2") == LeaseVerdict::granted);
}

TEST_CASE("leases hold across processes and connections") {
  Leases leases;
  const ReplicaIdentity one = replica("one");  // this process, not the child
  REQUIRE(run_in_child([&] {
            return acquire(*leases.open(one), "t1") == LeaseVerdict::granted ? 0 : 1;
          }) == 0);
  const auto two = leases.open(replica("two"));
  CHECK(acquire(*two, "t2") == LeaseVerdict::busy);
  CHECK(two->renew({{kRun, "t1"}}, kTtl).value().at(0) == LeaseVerdict::granted);
}

TEST_CASE("expired leases leave no rows once the file is opened again") {
  Leases leases;
  CHECK(acquire(*leases.open(replica("one")), "t1") == LeaseVerdict::granted);
  leases.clock.now += kTtl.count();
  leases.open(replica("two"));
  CHECK(RawSql{leases.path}.number("SELECT count(*) FROM lease") == 0);
}

TEST_CASE("a damaged or empty lease file is made anew, one of another program is left alone") {
  Leases leases;
  CHECK(acquire(*leases.open(replica("one")), "t1") == LeaseVerdict::granted);
  const std::string good = bytes_of(leases.path);

  SUBCASE("empty") {
    write_bytes(leases.path, "");
    CHECK(acquire(*leases.open(replica("two")), "t2") == LeaseVerdict::granted);
  }
  SUBCASE("zeros, as a power loss leaves them") {
    write_bytes(leases.path, std::string(good.size(), '\0'));
    CHECK(acquire(*leases.open(replica("two")), "t2") == LeaseVerdict::granted);
  }
  SUBCASE("half a file") {
    write_bytes(leases.path, good.substr(0, good.size() / 2));
    CHECK(acquire(*leases.open(replica("two")), "t2") == LeaseVerdict::granted);
  }
  SUBCASE("a damaged page") {
    write_bytes(leases.path, good.substr(0, 4'096) + std::string(good.size() - 4'096, '\x5a'));
    CHECK(acquire(*leases.open(replica("two")), "t2") == LeaseVerdict::granted);
  }
  SUBCASE("another program's") {
    write_bytes(leases.path, "dear diary");
    const auto store = open_sqlite_lease_store(leases.path, replica("two"), leases.clock);
    CHECK(code_of(store) == "lease_unavailable");
    CHECK(store.error().message.find(leases.path) != std::string::npos);
    CHECK(bytes_of(leases.path) == "dear diary");
  }
}

TEST_CASE("a lease file that is replaced while in use loses its leases, as FLUSHALL does") {
  Leases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == LeaseVerdict::granted);
  std::filesystem::remove(leases.path);
  CHECK(acquire(*leases.open(replica("two")), "t2") == LeaseVerdict::granted);
  CHECK(one->renew({{kRun, "t1"}}, kTtl).value().at(0) == LeaseVerdict::lost);
  CHECK(one->holders({kRun}).value().at(0) == replica("two"));
}

TEST_CASE("a lease file that stays locked is unavailable, and available again afterwards") {
  Leases leases;
  const auto one = leases.open(replica("one"));
  CHECK(acquire(*one, "t1") == LeaseVerdict::granted);
  RawSql other{leases.path};
  other.run("BEGIN IMMEDIATE");
  const auto refused = one->renew({{kRun, "t1"}}, Duration{10});
  CHECK(code_of(refused) == "lease_unavailable");
  other.run("ROLLBACK");
  CHECK(one->renew({{kRun, "t1"}}, kTtl).value().at(0) == LeaseVerdict::granted);
}
