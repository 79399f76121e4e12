#include "tests/persistence/fault_vfs.hpp"
#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

/// A store on the failing file layer with the runs p/1 and q/1. A peer keeps the log in use, as
/// another replica would: otherwise closing would remove it, and with it what is in doubt.
struct FaultyStore {
  TempFolder folder;
  std::string path = folder / "store.db";
  std::unique_ptr<Store> store;
  std::unique_ptr<Store> peer;
  RunId p{"p", 1};
  RunId q{"q", 1};

  FaultyStore() {
    set_fault(FaultAt::none);
    auto opened = open_sqlite_store({.path = path, .vfs = fault_vfs()});
    REQUIRE(opened);
    store = std::move(*opened);
    peer = open_store(path);
    REQUIRE(write_one<RunStartedReply>(*store, start_of("p")));
    REQUIRE(write_one<RunStartedReply>(*store, start_of("q")));
  }
  ~FaultyStore() { set_fault(FaultAt::none); }

  Result<std::vector<Result<Reply>>> append_to_both() {
    return store->write({append_to(store->run(p).value()), append_to(store->run(q).value())});
  }

  /// What would be found after a power cut now: file and log, without the shared memory.
  std::uint64_t last_seq_after_crash(const RunId& run) {
    write_bytes(folder / "copy.db", bytes_of(path));
    write_bytes(folder / "copy.db-wal", bytes_of(path + "-wal"));
    const auto copy = open_store(folder / "copy.db");
    return copy->run(run).value().last_seq.value;
  }
};

}  // namespace

TEST_CASE("T11: an error at COMMIT with the frame written: read back, neither lost nor twice") {
  FaultyStore faulty;
  set_fault(FaultAt::sync);
  CHECK(code_of(faulty.append_to_both()) == "outcome_unknown");
  REQUIRE(faults_hit() == 1);

  const std::uint64_t read_back = faulty.store->run(faulty.p).value().last_seq.value;
  CHECK((read_back == 1 || read_back == 2));
  // One transaction: the others of the batch share its fate.
  CHECK(faulty.store->run(faulty.q).value().last_seq.value == read_back);
  CHECK(faulty.peer->run(faulty.p).value().last_seq.value == read_back);
  CHECK(faulty.store->raw_history(faulty.p).value().size() == read_back);
  // What was read back stays true, whatever the log still holds.
  CHECK(faulty.last_seq_after_crash(faulty.p) == read_back);

  REQUIRE(faulty.append_to_both());
  for (const RunId& run : {faulty.p, faulty.q}) {
    const auto history = faulty.peer->history(run, Seq{0}).value();
    REQUIRE(history.size() == read_back + 1);
    CHECK(history.back().pass.seq == Seq{read_back + 1});
    CHECK(faulty.last_seq_after_crash(run) == read_back + 1);
  }
}

TEST_CASE("T11: an error at any write of a commit leaves all of the batch or nothing") {
  for (const FaultAt at : {FaultAt::write, FaultAt::write_full, FaultAt::sync}) {
    FaultyStore faulty;
    std::uint64_t expected = 1;
    int failures = 0;
    for (int skip = 0; skip < 60; ++skip) {
      set_fault(at, skip);
      const auto replies = faulty.append_to_both();
      const bool failed = faults_hit() > 0;
      set_fault(FaultAt::none);
      CHECK(failed == !replies);
      if (replies) {
        ++expected;
        CHECK(faulty.store->run(faulty.p).value().last_seq.value == expected);
        break;
      }
      ++failures;
      CHECK(code_of(replies) == "outcome_unknown");
      const std::uint64_t read_back = faulty.store->run(faulty.p).value().last_seq.value;
      CHECK((read_back == expected || read_back == expected + 1));
      CHECK(faulty.store->run(faulty.q).value().last_seq.value == read_back);
      CHECK(faulty.last_seq_after_crash(faulty.q) == read_back);
      expected = read_back;
    }
    CHECK(failures > 0);
    CHECK(faulty.peer->raw_history(faulty.p).value().size() == expected);
  }
}

TEST_CASE("T11: while the disk stays full, calls say so, when it has room again, all goes on") {
  FaultyStore faulty;
  set_fault(FaultAt::write_full, 0, 1'000);
  CHECK(code_of(faulty.append_to_both()) == "outcome_unknown");
  // Nothing is read back as long as its fate cannot be settled.
  CHECK(code_of(faulty.store->run(faulty.p)) == "store_unavailable");
  CHECK(code_of(faulty.store->write({stop_of(faulty.p)})) == "store_unavailable");
  set_fault(FaultAt::none);
  const auto version = faulty.store->data_version();
  REQUIRE(version);
  CHECK(faulty.store->run(faulty.p).value().last_seq == Seq{1});
  CHECK(faulty.append_to_both());
}
