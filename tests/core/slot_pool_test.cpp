#include "core/admission.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace stagecall {
namespace {

using Demand = SlotPool::Demand;
using Grants = std::vector<SlotPool::Grant>;

RunId run(const std::string& name) {
  return {name, 1};
}

Demand thin(std::uint32_t count, std::int32_t priority = 0) {
  return {{{priority, 1}, count}};
}

}  // namespace

TEST_CASE("slots are handed out until none is free") {
  SlotPool pool{3};
  pool.want(run("a"), thin(5));
  CHECK(pool.grant() == Grants{{run("a"), 3}});
  CHECK(pool.free() == 0);
  CHECK(pool.granted(run("a")) == 3);
  CHECK(pool.grant().empty());
  pool.give_back(run("a"), 1);
  CHECK(pool.grant() == Grants{{run("a"), 1}});
}

TEST_CASE("the highest priority comes first") {
  SlotPool pool{2};
  pool.want(run("low"), thin(5, -1));
  pool.want(run("mid"), thin(1, 0));
  pool.want(run("high"), thin(1, 7));
  CHECK(pool.grant() == Grants{{run("high"), 1}, {run("mid"), 1}});
}

TEST_CASE("runs of one priority get slots in turn, one node each, over calls too") {
  SlotPool pool{4};
  pool.want(run("a"), thin(100));
  pool.want(run("b"), thin(100));
  pool.want(run("c"), thin(100));
  CHECK(pool.grant() == Grants{{run("a"), 2}, {run("b"), 1}, {run("c"), 1}});
  pool.give_back(run("a"), 2);
  CHECK(pool.grant() == Grants{{run("b"), 1}, {run("c"), 1}});
  pool.want(run("a"), thin(50));  // repeated demand keeps its place
  pool.give_back(run("b"), 1);
  CHECK(pool.grant() == Grants{{run("a"), 1}});
}

TEST_CASE("a wide node at the head waits for room and is not overtaken") {
  SlotPool pool{4};
  pool.want(run("thin"), thin(3));
  CHECK(pool.grant().size() == 1);
  pool.want(run("wide"), {{{0, 3}, 1}});
  pool.want(run("thin"), thin(100));
  pool.want(run("low"), thin(100, -1));
  CHECK(pool.grant().empty());
  pool.give_back(run("thin"), 2);
  CHECK(pool.grant() == Grants{{run("wide"), 3}});
}

TEST_CASE("a wide node is not starved by a run with endless thin ones of its priority") {
  SlotPool pool{4};
  std::uint32_t busy = 0;
  pool.want(run("thin"), thin(1'000));
  pool.want(run("wide"), {{{0, 4}, 1}});
  for (int round = 0; round < 20 && pool.granted(run("wide")) == 0; ++round) {
    pool.grant();
    busy = pool.granted(run("thin"));
    pool.give_back(run("thin"), std::min(busy, 1U));
    pool.want(run("thin"), thin(1'000));
  }
  CHECK(pool.granted(run("wide")) == 4);
}

TEST_CASE("a run's own widest nodes come first within a priority") {
  SlotPool pool{5};
  pool.want(run("a"), {{{0, 1}, 10}, {{0, 4}, 1}});
  pool.want(run("b"), thin(1));
  CHECK(pool.grant() == Grants{{run("a"), 4}, {run("b"), 1}});
}

TEST_CASE("others_wait tells of runs other than this one") {
  SlotPool pool{1};
  CHECK_FALSE(pool.others_wait(run("a")));
  pool.want(run("a"), thin(2));
  CHECK_FALSE(pool.others_wait(run("a")));
  CHECK(pool.others_wait(run("b")));
  pool.grant();
  CHECK(pool.others_wait(run("b")));  // a still wants one
  pool.want(run("b"), thin(1));
  CHECK(pool.others_wait(run("a")));
  pool.want(run("b"), {});
  CHECK_FALSE(pool.others_wait(run("a")));
}

TEST_CASE("a demand for nothing is none") {
  SlotPool pool{4};
  pool.want(run("a"), thin(0));
  CHECK_FALSE(pool.others_wait(run("b")));
  CHECK(pool.grant().empty());
}

TEST_CASE("a removed run leaves nothing, an unknown one changes nothing") {
  SlotPool pool{2};
  pool.want(run("a"), thin(5));
  pool.grant();
  pool.remove(run("a"));
  pool.remove(run("a"));
  pool.give_back(run("ghost"), 5);
  CHECK(pool.free() == 2);
  CHECK(pool.holders().empty());
  CHECK_FALSE(pool.others_wait(run("b")));
  pool.give_back(run("a"), 1);
  CHECK(pool.free() == 2);
}

TEST_CASE("a run gives back no more slots than it was granted") {
  SlotPool pool{3};
  pool.want(run("a"), thin(1));
  pool.want(run("b"), thin(1));
  pool.grant();
  pool.give_back(run("a"), 5);
  pool.give_back(run("a"), 1);
  CHECK(pool.free() == 2);
  CHECK(pool.granted(run("a")) == 0);
  CHECK(pool.granted(run("b")) == 1);
}

TEST_CASE("slots are conserved and none is idle while its head fits, for any order of calls") {
  constexpr std::uint32_t kSlots = 16;
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const auto below = [&random](std::uint32_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    SlotPool pool{kSlots};
    std::map<RunId, std::uint32_t> held;
    for (int step = 0; step < 400; ++step) {
      const RunId id = run("r" + std::to_string(below(6)));
      switch (below(4)) {
        case 0: {
          Demand demand;
          for (std::uint32_t i = below(3); i > 0; --i) {
            demand[{static_cast<std::int32_t>(below(3)), 1 + below(4)}] = below(5);
          }
          pool.want(id, demand);
          break;
        }
        case 1: {
          const std::uint32_t back = below(held[id] + 1);
          pool.give_back(id, back);
          held[id] -= back;
          break;
        }
        case 2:
          for (const auto& grant : pool.grant()) {
            held[grant.run] += grant.slots;
          }
          CHECK(pool.grant().empty());
          break;
        default:
          if (below(10) == 0) {
            pool.remove(id);
            held[id] = 0;
          }
      }
      std::uint32_t sum = pool.free();
      for (const auto& [holder, slots] : held) {
        CHECK(pool.granted(holder) == slots);
        sum += slots;
      }
      REQUIRE(sum == kSlots);
    }
  }
}

}  // namespace stagecall
