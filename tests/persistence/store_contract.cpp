#include "tests/persistence/store_contract.hpp"

#include "persistence/codec.hpp"
#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace stagecall::testing {
void check_starts(const Connect& connect) {
  const auto store = connect();

  SUBCASE("a start with a holder inserts the run, its owner, its first term and its first pass") {
    const auto reply = write_one<RunStartedReply>(*store, start_of("p")).value();
    CHECK(reply.created);
    const RunRow& row = reply.row;
    CHECK(row.run == RunId{"p", 1});
    CHECK(row.owner == "first");
    CHECK(row.term == Term{1});
    CHECK(row.last_seq == Seq{1});
    CHECK(row.created_at == wall(1'000));
    CHECK(row.summary == start_of("p").summary);
    CHECK(store->run(row.run).value() == row);
    CHECK(store->definition(row.definition).value() == start_of("p").definition);
    const auto history = store->history(row.run, Seq{0}).value();
    REQUIRE(history.size() == 1);
    CHECK(history[0].pass == Pass{Seq{1}, Term{1}, wall(1'000), start_of("p").events});
    CHECK(history[0].checksum == row.last_checksum);
  }
  SUBCASE("a start without a holder is nobody's, with term 0") {
    StartRun start = start_of("p");
    start.holder.reset();
    const RunRow row = started(*store, start);
    CHECK(row.owner.empty());
    CHECK(row.term == Term{0});
    CHECK(store->history(row.run, Seq{0}).value().at(0).pass.term == Term{0});
    CHECK(code_of(write_one<AppendReply>(*store, append_to(row))) == "fenced");
  }
  SUBCASE("a second start gives the newest live run until as many live as may") {
    const RunRow first = started(*store, start_of("p"));
    const auto second = write_one<RunStartedReply>(*store, start_of("p")).value();
    CHECK_FALSE(second.created);
    CHECK(second.row == first);

    StartRun concurrent = start_of("p");
    concurrent.concurrent_runs = 2;
    CHECK(started(*store, concurrent).run == RunId{"p", 2});
    const auto third = write_one<RunStartedReply>(*store, concurrent).value();
    CHECK_FALSE(third.created);
    CHECK(third.row.run == RunId{"p", 2});
    CHECK(started(*store, start_of("q")).run == RunId{"q", 1});
  }
  SUBCASE("iterations go on counting after the end") {
    ended(*store, started(*store, start_of("p")));
    CHECK(started(*store, start_of("p")).run == RunId{"p", 2});
    CHECK(store->latest_run("p").value().run == RunId{"p", 2});
  }
}

void check_start_requests(const Connect& connect) {
  const auto store = connect();

  SUBCASE("a request id gives the same run again, finished or not") {
    StartRun start = start_of("p");
    start.request_id = "once";
    const RunRow first = started(*store, start);
    CHECK(started(*store, start) == first);
    const RunRow end = ended(*store, first);
    const auto repeated = write_one<RunStartedReply>(*store, start).value();
    CHECK_FALSE(repeated.created);
    CHECK(repeated.row == end);
    start.request_id = "again";
    CHECK(started(*store, start).run == RunId{"p", 2});
  }
  SUBCASE("a request id that joined a live run goes on meaning that run") {
    const RunRow first = started(*store, start_of("p"));
    StartRun join = start_of("p");
    join.request_id = "join";
    CHECK(started(*store, join).run == first.run);
    ended(*store, first);
    CHECK(started(*store, join).run == first.run);
  }
  SUBCASE("a request id that met another definition is not bound to it") {
    const RunRow first = started(*store, start_of("p"));
    StartRun other = start_of("p");
    other.request_id = "other";
    other.definition += " ";
    CHECK(started(*store, other).definition == first.definition);
    ended(*store, first);
    CHECK(started(*store, other).run == RunId{"p", 2});
  }
}

void check_terms_and_fence(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  const OpenTerm open{row.run, Term{1}, replica("second")};

  SUBCASE("a term is opened by compare-and-set on the one before") {
    CHECK(write_one<TermReply>(*store, open).value().term == Term{2});
    const auto late = write_one<TermReply>(*connect(), open);
    CHECK(code_of(late) == "history_moved");
    const RunRow now = store->run(row.run).value();
    CHECK(now.term == Term{2});
    CHECK(now.owner == "second");
  }
  SUBCASE("an append of an earlier term is fenced and changes nothing") {
    REQUIRE(write_one<TermReply>(*store, open));
    REQUIRE(write_one<InboxReply>(*store, stop_of(row.run)));
    const RunRow before = store->run(row.run).value();
    AppendPass stale = append_to(row);
    stale.consumed = {store->inbox(row.run, 1).value().at(0).id};
    CHECK(code_of(write_one<AppendReply>(*store, stale)) == "fenced");
    CHECK(store->run(row.run).value() == before);
    CHECK(store->inbox(row.run, 10).value().size() == 1);
  }
  SUBCASE("that a run is parked is noted under its term, and a new term is not parked") {
    const auto parked = [&] { return store->run(row.run).value().parked; };
    CHECK(parked().empty());
    REQUIRE(write_one<NotedReply>(*store, NoteParked{row.run, Term{1}, "no lease"}));
    CHECK(parked() == "no lease");
    REQUIRE(write_one<AppendReply>(*store, append_to(row)));
    CHECK(parked() == "no lease");
    CHECK(code_of(write_one<NotedReply>(*store, NoteParked{row.run, Term{2}, {}})) == "fenced");
    REQUIRE(write_one<TermReply>(*store, open));
    CHECK(parked().empty());
    CHECK(code_of(write_one<NotedReply>(*store, NoteParked{row.run, Term{1}, "x"})) == "fenced");
    REQUIRE(write_one<NotedReply>(*store, NoteParked{row.run, Term{2}, "no lease"}));
    REQUIRE(write_one<NotedReply>(*store, NoteParked{row.run, Term{2}, {}}));
    CHECK(parked().empty());
  }
  SUBCASE("an append of a term that never began is a defect") {
    AppendPass early = append_to(row);
    early.term = Term{2};
    CHECK(code_of(write_one<AppendReply>(*store, early)) == "internal");
  }
  SUBCASE("an append that does not continue the history is refused, with events or without") {
    REQUIRE(write_one<AppendReply>(*store, append_to(row)));
    CHECK(code_of(write_one<AppendReply>(*store, append_to(row))) == "history_moved");
    CHECK(code_of(write_one<AppendReply>(*store, append_to(row, {}))) == "history_moved");
    CHECK(store->run(row.run).value().last_seq == Seq{2});
  }
  SUBCASE("an unknown run is not found by any write") {
    const RunId nobody{"nobody", 1};
    AppendPass append = append_to(row);
    append.run = nobody;
    CHECK(code_of(write_one<AppendReply>(*store, append)) == "not_found");
    CHECK(code_of(write_one<TermReply>(*store, OpenTerm{nobody, {}, {}})) == "not_found");
    CHECK(code_of(write_one<NotedReply>(*store, NoteParked{nobody, {}, {}})) == "not_found");
    CHECK(code_of(write_one<InboxReply>(*store, stop_of(nobody))) == "not_found");
  }
}

void check_history(const Connect& connect) {
  const auto store = connect();
  RunRow row = started(*store, start_of("p"));

  SUBCASE("appends make a chain of passes and carry the summary") {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const AppendPass append = append_to(row, {AttemptRunning{NodeIndex{i}, Attempt{1}}});
      CHECK(write_one<AppendReply>(*store, append).value().last_seq == Seq{row.last_seq.value + 1});
      row = store->run(row.run).value();
      CHECK(row.summary == append.summary);
    }
    const auto raw = connect()->raw_history(row.run).value();
    REQUIRE(raw.size() == 4);
    std::uint64_t chained = 0;
    for (const RawPass& pass : raw) {
      chained = checksum_of(chained, {pass.seq, pass.term, pass.at, {}}, pass.events);
      CHECK(pass.checksum == chained);
    }
    CHECK(row.last_checksum == chained);
    const auto tail = store->history(row.run, Seq{2}).value();
    REQUIRE(tail.size() == 2);
    CHECK(tail[0].pass == Pass{Seq{3}, Term{1}, wall(2'000), {AttemptRunning{{1}, {1}}}});
    CHECK(tail[1].pass.seq == Seq{4});
  }
  SUBCASE("an append without events writes the summary and no pass") {
    AppendPass append = append_to(row, {});
    append.summary.due_at.reset();
    CHECK(write_one<AppendReply>(*store, append).value().last_seq == Seq{1});
    RunRow expected = row;
    expected.summary = append.summary;
    CHECK(store->run(row.run).value() == expected);
    CHECK(store->history(row.run, Seq{0}).value().size() == 1);
  }
  SUBCASE("a run that there is none of has no history") {
    CHECK(store->history({"q", 1}, Seq{0}).value().empty());
    CHECK(store->raw_history({"q", 1}).value().empty());
  }
}

void check_batches(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  const RunRow other = started(*store, start_of("q"));

  SUBCASE("a refused and a constraint-breaking write fail alone, and leave nothing") {
    StartRun broken = start_of("r");
    broken.pipeline = "";
    StartRun half = start_of("s");
    half.summary.passes.tick = 0xffff'ffff'ffff'ffff;  // negative in the store, after the insert
    const auto replies =
        store->write({append_to(row), broken, append_to(row), half, append_to(other)}).value();
    REQUIRE(replies.size() == 5);
    CHECK(replies[0]);
    CHECK(code_of(replies[1]) == "internal");
    CHECK(code_of(replies[2]) == "history_moved");
    CHECK(code_of(replies[3]) == "internal");
    CHECK(replies[4]);
    CHECK(store->runs().value().size() == 2);
    CHECK(connect()->run(other.run).value().last_seq == Seq{2});
    CHECK(started(*store, start_of("s")).run == RunId{"s", 1});
  }
  SUBCASE("an append that breaks a constraint at its end leaves nothing of its beginning") {
    AppendPass append = append_to(row);
    append.outputs = {{NodeIndex{1}, Attempt{1}, "kept"}, {NodeIndex{2}, Attempt{0}, "of none"}};
    CHECK(code_of(write_one<AppendReply>(*store, append)) == "internal");
    CHECK(store->run(row.run).value() == row);
    CHECK(store->raw_history(row.run).value().size() == 1);
    CHECK(store->outputs(row.run, {NodeIndex{1}}).value().empty());
  }
  SUBCASE("later writes of a batch see the earlier ones") {
    const auto replies =
        store->write({start_of("r"), start_of("r"), OpenTerm{{"r", 1}, Term{1}, replica("second")}})
            .value();
    CHECK(std::get<RunStartedReply>(*replies[0]).created);
    CHECK_FALSE(std::get<RunStartedReply>(*replies[1]).created);
    CHECK(std::get<TermReply>(*replies[2]).term == Term{2});
  }
  SUBCASE("an empty batch is nothing") {
    CHECK(store->write({}).value().empty());
  }
}

void check_lookups(const Connect& connect) {
  const auto store = connect();

  CHECK(code_of(store->run({"p", 1})) == "not_found");
  CHECK(code_of(store->latest_run("p")) == "not_found");
  CHECK(code_of(store->definition(std::string(32, '0'))) == "not_found");
  CHECK(store->runs().value().empty());

  StartRun late = start_of("a");
  late.summary.due_at = wall(2'000);
  StartRun never = start_of("b");
  StartRun soon = start_of("c/1 \xc3\xa4'\"%");
  soon.summary.due_at = wall(1'500);
  soon.holder.reset();
  const RunRow a = started(*store, late);
  const RunRow b = started(*store, never);
  const RunRow c = started(*store, soon);
  const RunRow gone = ended(*store, started(*store, start_of("d")));
  CHECK(store->runs().value() == std::vector{a, b, c, gone});
  CHECK(store->live_runs().value() ==
        std::vector<LiveRun>{{c.run, c.definition, Term{0}, "", wall(1'000), wall(1'500)},
                             {a.run, a.definition, Term{1}, "first", wall(1'000), wall(2'000)},
                             {b.run, b.definition, Term{1}, "first", wall(1'000), std::nullopt}});

  const auto other = connect();
  CHECK(store->store_id() == other->store_id());
  CHECK(store->store_id().size() == 32);
  CHECK(store->lease_authority() == other->lease_authority());
  CHECK_FALSE(store->lease_authority().empty());
}

void check_data_version(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  const auto other = connect();
  const auto version = other->data_version().value();

  SUBCASE("it stands while nobody writes, or only this connection does") {
    CHECK(other->data_version().value() == version);
    REQUIRE(write_one<AppendReply>(*other, append_to(row)));
    CHECK(other->data_version().value() == version);
  }
  SUBCASE("it stands while others are only answered") {
    CHECK(code_of(write_one<InboxReply>(*store, stop_of({"nobody", 1}))) == "not_found");
    CHECK_FALSE(write_one<RunStartedReply>(*store, start_of("p")).value().created);
    CHECK(store->runs().value().size() == 1);
    CHECK(other->data_version().value() == version);
  }
  SUBCASE("it changes with each commit of another") {
    REQUIRE(write_one<InboxReply>(*store, stop_of(row.run)));
    const auto next = other->data_version().value();
    CHECK(next != version);
    REQUIRE(write_one<AppendReply>(*store, append_to(row)));
    CHECK(other->data_version().value() != next);
  }
}

void check_parallel_starts(const Connect& connect) {
  constexpr int threads_per_connection = 20;
  std::array<std::unique_ptr<Store>, 2> stores{connect(), connect()};
  std::array<std::mutex, 2> turns;
  std::mutex guard;
  std::set<RunId> runs;
  int created = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2 * threads_per_connection; ++i) {
    threads.emplace_back([&, which = i % 2] {
      const std::unique_lock turn{turns[which]};
      const auto reply = write_one<RunStartedReply>(*stores[which], start_of("p"));
      const std::lock_guard lock{guard};
      runs.insert(reply ? reply->row.run : RunId{reply.error().message, 0});
      created += reply && reply->created ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(runs == std::set{RunId{"p", 1}});
  CHECK(created == 1);
  CHECK(stores[0]->runs().value().size() == 1);
}

void check_parallel_appends(const Connect& connect) {
  constexpr std::uint64_t rounds = 100;
  const RunRow shared = started(*connect(), start_of("shared"));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (const std::string name : {"one", "two"}) {
    threads.emplace_back([&, name, store = std::shared_ptr{connect()}] {
      auto row = write_one<RunStartedReply>(*store, start_of(name)).value().row;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        const auto replies = store->write({append_to(row), report_of(shared.run)});
        failures += replies && replies->at(0) && replies->at(1) ? 0 : 1;
        ++row.last_seq.value;
      }
    });
  }
  threads.emplace_back([&, store = std::shared_ptr{connect()}] {
    while (failures == 0) {
      const auto rows = store->inbox(shared.run, 10 * rounds);
      const auto history = store->history({"one", 1}, Seq{0});
      failures += rows && history && store->live_runs() && store->data_version() ? 0 : 1;
      if (rows && rows->size() == 2 * rounds) {
        break;
      }
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failures == 0);
  const auto store = connect();
  CHECK(store->run({"one", 1}).value().last_seq == Seq{rounds + 1});
  CHECK(store->raw_history({"two", 1}).value().size() == rounds + 1);
  CHECK(store->inbox(shared.run, 10 * rounds).value().size() == 2 * rounds);
}

void check_parallel_stops(const Connect& connect) {
  constexpr std::size_t callers = 8;
  const RunRow row = started(*connect(), start_of("p"));
  std::array<InboxFate, callers> fates{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, i, store = std::shared_ptr{connect()}] {
      const auto reply = write_one<InboxReply>(*store, stop_of(row.run, std::to_string(i)));
      fates[i] = reply ? reply->fate : InboxFate::ended;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(std::count(fates.begin(), fates.end(), InboxFate::stored) == 1);
  CHECK(std::count(fates.begin(), fates.end(), InboxFate::waiting) == callers - 1);
  CHECK(connect()->inbox(row.run, 10).value().size() == 1);
}

}  // namespace stagecall::testing
