// Faults end where they happen: unexpected messages, executors that throw, a store that hangs.
#include "actors/observed.hpp"
#include "tests/support/actor_world.hpp"

#include <caf/actor_cast.hpp>
#include <doctest/doctest.h>

#include <stdexcept>

using namespace stagecall;
using namespace stagecall::testing;
using namespace std::chrono_literals;

TEST_CASE("E5: an unexpected message leaves every actor alive, and its sender too") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  const auto& actors = *world.replica().actors;
  const auto send_nonsense = [&](const auto& handle) {
    caf::anon_send(caf::actor_cast<caf::actor>(handle), 42, std::string{"nonsense"});
    world.run();
  };
  send_nonsense(actors.supervisor);
  send_nonsense(actors.colleagues.store);
  send_nonsense(actors.colleagues.lock_manager);
  send_nonsense(actors.colleagues.slot_broker);
  send_nonsense(actors.colleagues.custodian);
  send_nonsense(world.actor_of(run));
  world.executor().end("a");
  world.run();
  world.executor().end("b");
  world.run();
  CHECK(world.state(run) == RunState::succeeded);
  world.start(pipeline("another", {task("c")}));
  world.run();
  CHECK(world.executor().launches.back().key.node == "c");
}

namespace {

using Thrower = caf::typed_actor<caf::replies_to<Describe>::with<ActorInsight>>;

class ThrowingActor final : public Observed<Thrower::base> {
 public:
  using Observed::Observed;
  behavior_type make_behavior() override {
    return {[](const Describe&) -> ActorInsight { throw std::runtime_error{"scripted"}; }};
  }
};

}  // namespace

TEST_CASE("who asked a handler that throws is answered with an error") {
  World world;
  const auto actor = world.system().spawn<ThrowingActor>();
  for (int time = 0; time < 2; ++time) {  // it lives on
    const caf::scoped_actor self{world.system()};
    auto pending = self->request(actor, caf::infinite, Describe{});
    world.run();
    REQUIRE(self->has_next_message());
    caf::error answered;
    pending.receive([](const ActorInsight&) {},
                    [&answered](const caf::error& error) { answered = error; });
    CHECK(answered == caf::sec::runtime_error);
  }
}

TEST_CASE("an executor that throws at a submit fails that attempt, other runs go on") {
  World world;
  world.executor().on_submit = [](const Launch& launch) {
    if (launch.key.node == "bad") {
      throw std::runtime_error{"scripted"};
    }
  };
  const RunId bad = world.start(pipeline("bad", {task("bad"), task("behind", {"bad"})}));
  const RunId good = world.start(pipeline("good", {task("a"), task("b", {"a"})}));
  world.run();
  CHECK(world.state(bad) == RunState::failed);
  REQUIRE_FALSE(world.replica().left.empty());
  CHECK(world.replica().left.front().status.failed.front().outcome.error ==
        "executor scripted threw: scripted");
  CHECK(world.executor().cancels.size() == 1);
  world.executor().end("a");
  world.run();
  world.executor().end("b");
  world.run();
  CHECK(world.state(good) == RunState::succeeded);
}

TEST_CASE("T13: a run that nothing here runs is held by nobody, until a task is registered") {
  World world;
  world.executor().runs_everything = false;
  const RunId run = world.start(pipeline("p", {task("a")}));
  world.advance(11s);
  CHECK(world.row(run).owner.empty());
  const auto& supervisor = world.replica().actors->supervisor;
  CHECK(world.ask<Condition>(supervisor, ConditionOf{run}).lacking == "task \"work\"");
  world.executor().runs_everything = true;
  caf::anon_send(supervisor, TasksChanged{});
  world.run();
  CHECK(world.nodes(run, NodeState::submitted) == 1);
}

TEST_CASE("a node whose executor no longer runs it is rejected, and named") {
  World world(1);
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  world.executor().runs_everything = false;
  world.executor().end("a");
  world.run();
  CHECK(world.state(run) == RunState::failed);
  REQUIRE(world.replica().left.size() == 1);
  const Outcome& outcome = world.replica().left.front().status.failed.front().outcome;
  CHECK(outcome.kind == OutcomeKind::rejected);
  CHECK(outcome.error == "no executor here runs task \"work\"");
}

namespace {

/// A store actor that answers nothing, or looks into the inbox only; stands in for one that hangs
/// in its file.
struct SilentStore : StoreHandle::base {
  using Base = StoreHandle::base;
  SilentStore(caf::actor_config& config, bool shows_inbox) : Base(config), shows(shows_inbox) {}
  /// A promise holds who asked, who holds this actor.
  void on_exit() override { kept_.clear(); }
  behavior_type make_behavior() override {
    return {
        [](const Describe&) { return ActorInsight{}; },
        [this](const WriteRequest&) { return keep<WriteResponse>(); },
        [this](const LoadRun&) { return keep<LoadRunResponse>(); },
        [this](const LoadDefinition&) { return keep<DefinitionResponse>(); },
        [this](const ReadRow&) { return keep<RowResponse>(); },
        [this](const ReadInbox&) {
          auto promise = keep<InboxResponse>();
          if (shows) {
            promise.deliver(InboxResponse{std::vector<InboxRow>{}});
          }
          return promise;
        },
        [this](const SurveyRequest&) { return keep<SurveyResponse>(); },
        [](const Flush&) {},
    };
  }

 private:
  template <class Response>
  caf::typed_response_promise<Response> keep() {
    auto promise = make_response_promise<Response>();
    kept_.push_back(std::make_shared<caf::typed_response_promise<Response>>(promise));
    return promise;
  }
  bool shows;
  std::vector<std::shared_ptr<void>> kept_;  // of several types; only kept alive
};

}  // namespace

TEST_CASE("S2: a run whose inbox or commit hangs does not spin while it waits") {
  for (const bool shows_inbox : {false, true}) {
    CAPTURE(shows_inbox);
    World world;
    auto definition = World::value(Definition::build(pipeline("p", {task("a")})));
    const auto store = world.system().spawn<SilentStore>(shows_inbox);
    auto colleagues = world.replica().actors->colleagues;
    colleagues.store = store;
    HeldRun held;
    held.row.run = RunId{"p", 1};
    held.definition = definition;
    held.term = Term{1};
    const auto leased =
        world.ask<LeaseResponse>(colleagues.lock_manager, AcquireLease{held.row.run});
    held.trusted_until = World::value(leased.trust).until;
    const Decision first =
        begin(PipelineState{definition, 16}, world.replica().settings->self, world.clock().wall());
    held.history = {StoredPass{Pass{Seq{1}, Term{1}, world.clock().wall(), first.events}, 0}};
    held.term_recorded = true;
    const PipelineHandle actor = world.system().spawn<PipelineActor>(
        held, colleagues, world.replica().actors->supervisor, world.replica().settings);
    world.run();
    const std::uint64_t before = world.describe(actor).handled;
    world.advance(60s, 10ms);
    CHECK(world.describe(actor).handled - before <= 40);  // ticks and renewals of the lease
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(store, caf::exit_reason::user_shutdown);
    world.run();
  }
}

TEST_CASE("a run whose history does not follow is left alone, and holds up no other") {
  World world;
  const RunId run = world.start(pipeline("damaged", {external("gate")}));
  world.run();
  world.crash(world.replica());
  const RunRow row = world.row(run);
  const auto appended = world.replica().store->write({AppendPass{
      .run = run,
      .term = row.term,
      .previous = row.last_seq,
      .at = row.created_at,
      .events = {AttemptEnded{.node = NodeIndex{0}, .attempt = Attempt{7}, .outcome = {}}},
      .consumed = {},
      .summary = row.summary}});
  REQUIRE(World::value(appended).front().has_value());

  World::Member& next = world.add_replica("b");
  world.advance(30s);
  REQUIRE(next.left.size() == 1);  // looked at once, not at each tick
  CHECK(next.left.front().is_broken);
  CHECK(next.left.front().reason.find("no open attempt 7") != std::string::npos);
  CHECK(world.runs(next).empty());
  const RunId other = World::value(world.start(pipeline("other", {task("a")}), next)).row.run;
  world.run();
  next.executor.end("a");
  world.run();
  CHECK(world.row(other).summary.state == RunState::succeeded);
}

TEST_CASE("E1: an actor that ends between a request and its batch does not keep itself alive") {
  World world;
  const RunId run = world.start(pipeline("p", {external("a")}));
  auto& member = world.replica();
  const auto lock_manager = caf::actor_cast<caf::weak_actor_ptr>(
      caf::actor_cast<caf::strong_actor_ptr>(member.actors->colleagues.lock_manager));
  const auto store = caf::actor_cast<caf::weak_actor_ptr>(
      caf::actor_cast<caf::strong_actor_ptr>(member.actors->colleagues.store));
  {
    const caf::scoped_actor self{world.system()};
    (void)self->request(member.actors->colleagues.lock_manager, caf::infinite,
                        AcquireLease{RunId{"q", 1}});
    (void)self->request(
        member.actors->colleagues.store, caf::infinite,
        WriteRequest{PutInbox{.run = run, .message = StopInput{"asked"}, .at = WallTime{}}});
    world.step();
    world.step();
    world.end(member);
    world.advance(15s);  // timers refer to their actors too
  }
  CHECK(lock_manager.lock() == nullptr);
  CHECK(store.lock() == nullptr);
  CHECK(world.inbox_rows(run) == 1);  // gathered is written
}
