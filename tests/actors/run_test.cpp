// One run from its start to its end, through the shipped actors in virtual time.
#include "tests/support/actor_world.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;

TEST_CASE("a run of two tasks is launched in order, ends, and leaves no actor") {
  World world;
  const RunId run = world.start(pipeline("p", {task("a"), task("b", {"a"})}));
  world.run();
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a"});
  world.executor().end("a");
  world.run();
  CHECK(world.executor().launched_nodes() == std::vector<std::string>{"a", "b"});
  world.executor().end("b");
  world.run();
  CHECK(world.row(run).summary.state == RunState::succeeded);
  CHECK(world.runs(world.replica()).empty());
  REQUIRE(world.replica().left.size() == 1);
  CHECK(world.replica().left.front().reason.empty());
  CHECK(world.executor().acknowledged.size() == 2);
}
