// How far tasks are and why nodes wait, as an engine tells its host and as another engine sees it.
#include "tests/engine/engine_fixture.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/gate.hpp"

#include <optional>

namespace stagecall::testing {
namespace {

std::optional<double> progress_seen_by(Engine& engine, const RunId& run) {
  const RunStatus status = value(engine.status(run));
  return status.running.size() == 1 ? status.running.front().progress : std::nullopt;
}

}  // namespace

TEST_CASE_FIXTURE(EngineFixture, "R7: a host and another engine see how far a task is") {
  Gate half;
  Gate end;
  Engine engine = open();
  value(engine.register_task("work", [&](TaskContext& task) {
    task.progress(-1);
    half.wait();
    task.progress(0.5);
    end.wait();
  }));
  Engine other = value(Engine::open({.store = folder / "app.db", .adopts = false}));
  const RunId run = value(engine.start(chain_of("p", "work", {"a"})));
  CHECK(eventually([&] { return progress_seen_by(engine, run) == 0.0; }));
  half.open();
  CHECK(eventually([&] { return progress_seen_by(engine, run) == 0.5; }));
  CHECK(eventually([&] { return progress_seen_by(other, run) == 0.5; }));
  end.open();
  CHECK(end_of(engine, run) == RunState::succeeded);
  CHECK(value(engine.status(run)).running.empty());
}

TEST_CASE_FIXTURE(EngineFixture,
                  "explain tells of slots, asked of the holder or of another engine") {
  Gate end;
  EngineOptions narrow = options();
  narrow.slots = 1;
  narrow.replica = "there";
  Engine engine = value(Engine::open(narrow));
  value(engine.register_task("work", [&](TaskContext&) { end.wait(); }));
  Engine other = value(Engine::open({.store = folder / "app.db", .adopts = false}));
  const RunId first = value(engine.start(chain_of("p", "work", {"a"})));
  CHECK(eventually([&] { return value(engine.status(first)).running.size() == 1; }));
  const RunId second = value(engine.start(chain_of("q", "work", {"b"})));
  for (Engine* asked : {&engine, &other}) {
    std::vector<NodeExplanation> told;
    CHECK(eventually([&] {
      told = value(asked->explain(second, "b"));
      return told.size() == 1 && told.front().reason == WaitReason::slot;
    }));
    CHECK(told.front().text == "it waits for a slot; this run uses 0, 0 are free");
  }
  end.open();
  CHECK(end_of(engine, second) == RunState::succeeded);
}

}  // namespace stagecall::testing
