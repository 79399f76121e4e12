// One simulation: replicas, what they stand on, what is asked of them and what befalls them, from a
// scenario and a seed. First with faults, then without: by then every run must end.
#pragma once

#include "tests/sim/checker.hpp"
#include "tests/sim/replica.hpp"
#include "tests/sim/scenario.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stagecall::sim {

/// What a simulation came to.
struct Outcomes {
  BrokenRule broken{};
  std::vector<std::string> recent{};  ///< what happened last, if a rule is broken
  std::uint64_t passes = 0;
  std::uint64_t runs = 0;
  std::uint64_t trace_hash = 0;
  Duration virtual_time{0};
  std::map<std::string, std::uint64_t> faults{};  ///< that happened, by kind
};

/// Once faults are over every run ends within so many ticks.
inline constexpr int kTicksToEnd = 80;

class World {
 public:
  World(std::uint64_t seed, const Scenario& scenario, bool is_loud);
  Outcomes run();

 private:
  struct Seat {
    std::unique_ptr<Replica> replica{};  // none: it has crashed and not started again
    BootTime starts_at{};
    BootTime stands_until{};
    BootTime closes_at = BootTime::max();
    Duration wall_offset{0};
  };
  struct Nudge {
    BootTime at;
    std::string incarnation;
    std::string text;
  };

  void step();
  void let_time_pass();
  void run_actors();
  void seat_replicas();
  void befall(Duration passed);
  void carry_out(const Act& act);
  void ask_something();
  void end_external_nodes();
  void say_done(const RunId& run, const NodeSpec& node, bool is_forced);
  void put(const RunId& run, InboxMessage message);
  void take_nudge(const std::string& incarnation, const std::string& text);
  void deliver_nudges();
  void crash(Seat& seat);
  bool is_up(const Seat& seat) const { return seat.replica && universe_.now >= seat.stands_until; }
  void come_to_rest();
  void remember();
  void check_rest();
  Seat* any_up();

  Scenario scenario_;
  Universe universe_;
  std::shared_ptr<MemoryStoreContent> content_;  // shared by the connections
  std::unique_ptr<Store> truth_;
  std::unique_ptr<Clock> clock_;
  LeaseServer leases_;
  AttemptTable attempts_;
  Checker checker_;
  std::vector<Seat> seats_;
  std::vector<Nudge> nudges_;
  std::size_t acts_done_ = 0;
  std::uint32_t starts_left_;
  bool is_at_rest_ = false;
  BootTime begun_at_;
};

}  // namespace stagecall::sim
