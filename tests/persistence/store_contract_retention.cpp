#include "tests/persistence/fixtures.hpp"
#include "tests/persistence/store_contract.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

constexpr NodeIndex kA{0};
constexpr NodeIndex kB{1};
constexpr NodeIndex kC{2};

PruneReply pruned(Store& store, WallTime before, std::size_t runs_max = 100) {
  const auto reply = write_one<PruneReply>(store, PruneRuns{before, runs_max});
  REQUIRE_MESSAGE(reply, (reply ? "" : reply.error().message));
  return *reply;
}

}  // namespace

void check_carried_outputs(const Connect& connect) {
  const auto store = connect();
  const RunRow before = started(*store, start_of("p"));
  AppendPass append = append_to(before);
  append.outputs = {{kA, Attempt{1}, "old"}, {kA, Attempt{2}, "a"}, {kB, Attempt{1}, "b"}};
  REQUIRE(write_one<AppendReply>(*store, append));
  ended(*store, store->run(before.run).value());
  StartRun rerun = start_of("p");
  rerun.carried_from = before.run;
  rerun.carried = {kA, kC};

  SUBCASE("the new run has the latest outputs of the nodes that are carried, and its own") {
    const RunRow after = started(*store, rerun);
    CHECK(store->outputs(after.run, {kA, kB, kC}).value() == std::vector{append.outputs[1]});
    AppendPass more = append_to(after);
    more.outputs = {{kA, Attempt{3}, "new"}};
    REQUIRE(write_one<AppendReply>(*store, more));
    CHECK(store->outputs(after.run, {kA}).value() == more.outputs);
    CHECK(store->outputs(before.run, {kA}).value() == std::vector{append.outputs[1]});
  }
  SUBCASE("they stay when the run that they came from is removed") {
    const RunRow after = started(*store, rerun);
    CHECK(pruned(*store, wall(10'000)).runs == std::vector{before.run});
    CHECK(store->outputs(after.run, {kA}).value() == std::vector{append.outputs[1]});
  }
  SUBCASE("a run that is there already gets none") {
    const RunRow live = started(*store, start_of("p"));
    CHECK(started(*store, rerun) == live);
    CHECK(store->outputs(live.run, {kA}).value().empty());
  }
  SUBCASE("from a run that is gone nothing is started, and no iteration is taken") {
    rerun.carried_from = RunId{"p", 7};
    CHECK(code_of(write_one<RunStartedReply>(*store, rerun)) == "not_found");
    CHECK(store->runs().value().size() == 1);
    CHECK(started(*store, start_of("p")).run == RunId{"p", 2});
  }
}

void check_prune(const Connect& connect) {
  const auto store = connect();
  const auto end_at = [&](const StartRun& start, std::int64_t at) {
    return ended(*store, started(*store, start), wall(at));
  };

  SUBCASE("runs that ended before the moment go, the others stay as they are") {
    const RunRow old = end_at(start_of("p"), 2'000);
    const RunRow young = end_at(start_of("p"), 3'000);
    const RunRow live = started(*store, start_of("q"));
    const PruneReply reply = pruned(*connect(), wall(3'000));
    CHECK(reply.runs == std::vector{old.run});
    CHECK(reply.events == 2 + 1);  // of the start and of the end
    CHECK(code_of(store->run(old.run)) == "not_found");
    CHECK(store->raw_history(old.run).value().empty());
    CHECK(store->runs().value() == std::vector{young, live});
    CHECK(store->history(young.run, Seq{0}).value().size() == 2);
    CHECK(store->live_runs().value().size() == 1);
    CHECK(pruned(*store, wall(3'000)).runs.empty());
  }
  SUBCASE("no more than asked for at once, first those that ended first") {
    const RunRow second = end_at(start_of("p"), 2'000);
    const RunRow fourth = end_at(start_of("q"), 4'000);
    const RunRow first = end_at(start_of("r"), 1'000);
    const RunRow third = end_at(start_of("o"), 2'000 + 1);
    CHECK(pruned(*store, wall(9'000), 0).runs.empty());
    CHECK(pruned(*store, wall(9'000), 3).runs == std::vector{first.run, second.run, third.run});
    CHECK(pruned(*store, wall(9'000), 3).runs == std::vector{fourth.run});
  }
  SUBCASE("T6: iterations go on counting") {
    end_at(start_of("p"), 2'000);
    end_at(start_of("p"), 2'000);
    CHECK(pruned(*store, wall(9'000)).runs.size() == 2);
    CHECK(store->runs().value().empty());
    CHECK(code_of(store->latest_run("p")) == "not_found");
    CHECK(started(*store, start_of("p")).run == RunId{"p", 3});
  }
  SUBCASE("a definition stays as long as a run has it") {
    const RunRow old = end_at(start_of("p"), 2'000);
    const RunRow live = started(*store, start_of("p"));
    pruned(*store, wall(9'000));
    CHECK(store->definition(live.definition).value() == start_of("p").definition);
    ended(*store, live, wall(3'000));
    pruned(*store, wall(9'000));
    CHECK(code_of(store->definition(old.definition)) == "not_found");
  }
  SUBCASE("request ids go with their run: the same start is a new one") {
    StartRun start = start_of("p");
    start.request_id = "once";
    const RunRow old = end_at(start, 2'000);
    CHECK(started(*store, start).run == old.run);
    pruned(*store, wall(9'000));
    CHECK(started(*store, start).run == RunId{"p", 2});
    CHECK_FALSE(store->knows_request(old.run, "once").value());
    CHECK(code_of(write_one<InboxReply>(*store, stop_of(old.run))) == "not_found");
  }
}

void check_leftovers(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  const Leftover first{{kA, Attempt{1}, Nonce{~std::uint64_t{0}}}, "replica", wall(2'000)};
  const Leftover second{{kA, Attempt{2}, Nonce{7}}, "replica", wall(2'000)};
  const Leftover third{{kC, Attempt{1}, Nonce{8}}, "other", wall(2'001)};
  AppendPass append = append_to(row);
  append.leftovers = {third, second, first};
  REQUIRE(write_one<AppendReply>(*store, append));
  const RunRow after = store->run(row.run).value();
  const PruneRuns prune{wall(90'000), 10};
  CHECK(connect()->leftovers(row.run).value() == std::vector{first, second, third});
  CHECK(store->leftovers({"p", 7}).value().empty());

  SUBCASE("those whose ends are told leave the list, also without any event") {
    AppendPass confirm = append_to(after, {});
    confirm.confirmed = {first.mark, {kB, Attempt{1}, Nonce{99}}};
    CHECK(write_one<AppendReply>(*store, confirm).value().last_seq == after.last_seq);
    CHECK(store->leftovers(row.run).value() == std::vector{second, third});
  }
  SUBCASE("what is recorded in a refused write is not on the list") {
    AppendPass refused = append_to(row);
    refused.leftovers = {{{kB, Attempt{1}, Nonce{9}}, "replica", wall(3'000)}};
    refused.confirmed = {first.mark};
    CHECK(code_of(write_one<AppendReply>(*store, refused)) == "history_moved");
    CHECK(store->leftovers(row.run).value() == std::vector{first, second, third});
  }
  SUBCASE("an ended run is kept until each has been confirmed, by reports that come too late") {
    ended(*store, after, wall(3'000));
    const auto report = [&](const Leftover& leftover, AttemptNews news) {
      const ReportInput input{"node", leftover.mark.attempt, leftover.mark.nonce, std::move(news)};
      const auto reply = write_one<InboxReply>(
          *store, PutInbox{.run = row.run, .message = input, .at = wall(4'000)});
      CHECK(reply.value().fate == InboxFate::ended);
    };
    report(first, SaysEnded{});
    report(second, SaysAbsent{.proven = true});
    report(third, SaysAlive{});
    CHECK(store->leftovers(row.run).value() == std::vector{third});
    CHECK(write_one<PruneReply>(*store, prune).value().runs.empty());
    report(third, SaysEnded{});
    CHECK(write_one<PruneReply>(*store, prune).value().runs == std::vector{row.run});
  }
}

}  // namespace stagecall::testing
