#include "tests/persistence/fixtures.hpp"
#include "tests/persistence/store_contract.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {

void check_inbox(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  const auto put = [&](const PutInbox& message) {
    return write_one<InboxReply>(*store, message).value();
  };

  SUBCASE("messages wait in order and are answered with the state and whom to nudge") {
    const InboxReply reply = put(stop_of(row.run));
    CHECK(reply.fate == InboxFate::stored);
    CHECK(reply.state == RunState::running);
    CHECK(reply.owner == "first");
    put(done_of(row.run, "n"));
    const auto rows = store->inbox(row.run, 10).value();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].message == stop_of(row.run).message);
    CHECK(rows[1].message == done_of(row.run, "n").message);
    CHECK(rows[0].id < rows[1].id);
    CHECK(store->inbox(row.run, 1).value() == std::vector{rows[0]});
    CHECK(store->runs_with_inbox().value() == std::vector{row.run});
  }
  SUBCASE("a known request id of that run is answered without a second row") {
    CHECK(put(report_of(row.run, "r")).fate == InboxFate::stored);
    CHECK(put(report_of(row.run, "r")).fate == InboxFate::known_request);
    CHECK(store->inbox(row.run, 10).value().size() == 1);
    CHECK(store->knows_request(row.run, "r").value());
    const RunRow other = started(*store, start_of("q"));
    CHECK_FALSE(store->knows_request(other.run, "r").value());
    CHECK_FALSE(store->knows_request({"nobody", 1}, "r").value());
    CHECK(put(report_of(other.run, "r")).fate == InboxFate::stored);
  }
  SUBCASE("T8: rows are consumed by the append that they caused, even if it has no events") {
    put(report_of(row.run));
    put(report_of(row.run, "kept"));
    put(report_of(row.run, "late"));
    const auto rows = store->inbox(row.run, 10).value();
    AppendPass append = append_to(row, {});
    append.consumed = {rows.at(0).id};
    REQUIRE(write_one<AppendReply>(*store, append));
    append = append_to(row);
    append.consumed = {rows.at(1).id};
    REQUIRE(write_one<AppendReply>(*store, append));
    CHECK(store->inbox(row.run, 10).value() == std::vector{rows.at(2)});
    CHECK(put(report_of(row.run, "kept")).fate == InboxFate::known_request);
  }
  SUBCASE("an append consumes nothing of another run") {
    const RunRow other = started(*store, start_of("q"));
    put(stop_of(other.run));
    AppendPass append = append_to(row);
    append.consumed = {store->inbox(other.run, 1).value().at(0).id};
    REQUIRE(write_one<AppendReply>(*store, append));
    CHECK(store->inbox(other.run, 10).value().size() == 1);
  }
  SUBCASE("T8: the end of a run takes its rows along; a stop after it is answered") {
    put(stop_of(row.run));
    ended(*store, row);
    CHECK(store->inbox(row.run, 10).value().empty());
    const InboxReply reply = put(stop_of(row.run, "late"));
    CHECK(reply.fate == InboxFate::ended);
    CHECK(reply.state == RunState::failed);
    CHECK(store->runs_with_inbox().value().empty());
    CHECK_FALSE(store->knows_request(row.run, "late").value());
  }
}

void check_inbox_subjects(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  const auto fate_of = [&](const PutInbox& message) {
    return write_one<InboxReply>(*store, message).value().fate;
  };
  const auto append = [&](RunState state, std::vector<std::int64_t> consumed) {
    AppendPass pass = append_to(store->run(row.run).value(), {});
    pass.summary.state = state;
    pass.consumed = std::move(consumed);
    REQUIRE(write_one<AppendReply>(*store, pass));
  };

  SUBCASE("R4: beside a stop that waits no second one is stored, whatever its words") {
    CHECK(fate_of(stop_of(row.run, "first")) == InboxFate::stored);
    PutInbox other = stop_of(row.run, "second");
    other.message = StopInput{"other words"};
    CHECK(fate_of(other) == InboxFate::waiting);
    CHECK_FALSE(store->knows_request(row.run, "second").value());
    CHECK(fate_of(stop_of(row.run, "first")) == InboxFate::known_request);
    CHECK(store->inbox(row.run, 10).value().size() == 1);
    CHECK(fate_of(stop_of(started(*store, start_of("q")).run)) == InboxFate::stored);
  }
  SUBCASE("R4: a stopping run takes no further stop, but reports") {
    append(RunState::stopping, {});
    CHECK(fate_of(stop_of(row.run)) == InboxFate::waiting);
    CHECK(store->inbox(row.run, 10).value().empty());
    CHECK(fate_of(done_of(row.run, "n")) == InboxFate::stored);
    CHECK(fate_of(report_of(row.run)) == InboxFate::stored);
  }
  SUBCASE("R14: the first report of a node wins, also among those that wait") {
    CHECK(fate_of(done_of(row.run, "n")) == InboxFate::stored);
    PutInbox second = done_of(row.run, "n", "second");
    std::get<NodeDoneInput>(second.message).outcome.kind = OutcomeKind::failed;
    CHECK(fate_of(second) == InboxFate::waiting);
    CHECK(fate_of(done_of(row.run, "another")) == InboxFate::stored);
    const auto rows = store->inbox(row.run, 10).value();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].message == done_of(row.run, "n").message);
    append(RunState::running, {rows[0].id});
    CHECK(fate_of(second) == InboxFate::stored);
    CHECK(fate_of(stop_of(row.run)) == InboxFate::stored);
  }
  SUBCASE("a node may be called as anything else is") {
    CHECK(fate_of(stop_of(row.run)) == InboxFate::stored);
    CHECK(fate_of(done_of(row.run, "stop")) == InboxFate::stored);
    CHECK(fate_of(report_of(row.run)) == InboxFate::stored);
    CHECK(fate_of(report_of(row.run)) == InboxFate::stored);
  }
  SUBCASE("of several in one batch the first is stored") {
    const auto replies =
        store->write({stop_of(row.run), stop_of(row.run), done_of(row.run, "n")}).value();
    CHECK(std::get<InboxReply>(*replies[0]).fate == InboxFate::stored);
    CHECK(std::get<InboxReply>(*replies[1]).fate == InboxFate::waiting);
    CHECK(std::get<InboxReply>(*replies[2]).fate == InboxFate::stored);
  }
}

void check_outputs(const Connect& connect) {
  const auto store = connect();
  const RunRow row = started(*store, start_of("p"));
  constexpr NodeIndex a{0};
  constexpr NodeIndex b{1};
  constexpr NodeIndex none{2};
  AppendPass first = append_to(row);
  first.outputs = {{a, Attempt{9}, "9"}, {a, Attempt{10}, R"({"of":10})"}, {b, Attempt{1}, ""}};
  REQUIRE(write_one<AppendReply>(*store, first));

  SUBCASE("of each node the one of its highest attempt, in the order asked") {
    const auto outputs = connect()->outputs(row.run, {b, none, a, b}).value();
    CHECK(outputs == std::vector{first.outputs[2], first.outputs[1], first.outputs[2]});
    CHECK(store->outputs(row.run, {}).value().empty());
  }
  SUBCASE("the output of the same attempt again takes the place of the one before") {
    AppendPass again = append_to(store->run(row.run).value());
    again.outputs = {{a, Attempt{10}, "again"}};
    REQUIRE(write_one<AppendReply>(*store, again));
    CHECK(store->outputs(row.run, {a}).value() == again.outputs);
  }
  SUBCASE("a refused append keeps none, another run has its own") {
    AppendPass refused = append_to(row);
    refused.outputs = {{a, Attempt{11}, "refused"}};
    CHECK(code_of(write_one<AppendReply>(*store, refused)) == "history_moved");
    CHECK(store->outputs(row.run, {a}).value() == std::vector{first.outputs[1]});
    const RunRow other = started(*store, start_of("q"));
    CHECK(store->outputs(other.run, {a, b}).value().empty());
    CHECK(store->outputs({"nobody", 1}, {a}).value().empty());
  }
}

}  // namespace stagecall::testing
