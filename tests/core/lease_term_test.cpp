// Rules of time for leases, and what binds attempts without one.
#include "core/lease_term.hpp"

#include "core/due_without_lease.hpp"
#include "tests/support/pipelines.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

namespace stagecall::testing {

TEST_CASE("L17: a lease is renewed once in a third of its ttl, whenever it was granted") {
  CHECK(rc::check([](std::uint64_t spread) {
    const Duration ttl{*rc::gen::inRange(1'000, 600'000)};
    const BootTime granted{Duration{*rc::gen::inRange(0, 2'000'000'000)}};
    const BootTime due = renewal_of(granted, ttl, spread);
    RC_ASSERT(due > granted);
    RC_ASSERT(due <= granted + renew_after(ttl));
    RC_ASSERT(renewal_of(due, ttl, spread) == due + renew_after(ttl));
    RC_ASSERT(renewal_of(due - Duration{1}, ttl, spread) == due);
  }));
}

TEST_CASE("L17: leases that were granted at one moment are renewed at different ones") {
  const Duration ttl{15'000};
  std::map<Duration, int> in_second;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const std::uint64_t spread = i * 0x9e3779b97f4a7c15ULL;
    const BootTime granted{Duration{123'456'789}};
    ++in_second[(renewal_of(granted, ttl, spread) - granted) / 1'000];
  }
  for (const auto& [second, leases] : in_second) {
    CAPTURE(second);
    CHECK(leases < 300);
  }
}

TEST_CASE(
    "T2: without a lease a stop and a deadline tell attempts to end, and nothing else follows") {
  PipelineSpec spec = pipeline({task("a"), task("b"), task("c", {"a"})});
  spec.nodes[0].timeout = Duration{1'000};
  Run run{spec};
  for (const std::string id : {"a", "b"}) {
    run.report(id, SaysRunning{});
  }
  const std::string self = replica("a").incarnation;
  CHECK(due_without_lease(run.state(), {}, run.now(), self).empty());
  const auto reasons = [&](const std::vector<Input>& inputs, WallTime now) {
    std::map<std::string, CancelReason> told;
    for (const Effect& effect : due_without_lease(run.state(), inputs, now, self)) {
      const auto& cancel = std::get<CancelEffect>(effect);
      CHECK(cancel.nonce == run.state().node(cancel.node).nonce);
      told[run.state().spec(cancel.node).id] = cancel.reason;
    }
    return told;
  };
  using Told = std::map<std::string, CancelReason>;
  const WallTime later = run.now() + Duration{1'000};
  CHECK(reasons({}, later) == Told{{"a", CancelReason::timeout}});
  CHECK(reasons({StopInput{"asked"}}, run.now()) ==
        Told{{"a", CancelReason::stop}, {"b", CancelReason::stop}});
  // An end is no order: what it leads to is decided later.
  CHECK(reasons({run.end_of("a", failed())}, run.now()).empty());
  // What another engine launched is that one's to end.
  CHECK(due_without_lease(run.state(), {}, later, replica("b").incarnation).empty());
  CHECK(run.result() == RunState::running);
}

}  // namespace stagecall::testing
