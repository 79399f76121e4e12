// One simulated engine process: the shipped actors on a scheduler of their own, run a message at a
// time. Destroyed without being closed first it has crashed: nothing of its end reaches outside.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/time.hpp"
#include "tests/sim/sim_executor.hpp"
#include "tests/sim/sim_leases.hpp"
#include "tests/sim/sim_store.hpp"
#include "tests/sim/universe.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace stagecall {
struct MemoryStoreContent;
}

namespace stagecall::sim {

/// What all replicas stand on.
struct Ground {
  Universe& universe;
  std::shared_ptr<MemoryStoreContent> content;  // shared by all connections
  LeaseServer& leases;
  AttemptTable& attempts;
  Checker& checker;
  std::function<void(const std::string& incarnation, const std::string& text)> nudge;
};

struct ReplicaOptions {
  std::string name;
  std::uint32_t slots = 1;
  Duration tick{5'000};
  Duration lease_ttl{15'000};
};

class Replica {
 public:
  Replica(const Ground& ground, const ReplicaOptions& options);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const std::string& incarnation() const;
  /// Its timers come to where the clock is, and its executor ends what is due.
  void catch_up();
  /// One message of an actor that the dice choose; false: there is none.
  bool run_once();
  /// Its leases are given back, its actors end in order.
  void close();

  // What is told to it; handled when its actors run.
  void start(const std::string& definition, const std::string& request_id);
  void put(const RunId& run, const InboxMessage& message);
  void nudge(const std::string& text);
  void drain(Duration grace);

  SimStore& store();
  SimLeases& leases();
  void set_wall(Duration offset);

  // Answered at once.
  std::uint64_t free_slots();
  std::size_t runs_held();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace stagecall::sim
