// The shipped lease store in memory behind an unreliable line: refuses, is slow, does what it is
// asked and does not say so, is away, is cut off from one replica, and forgets.
#pragma once

#include "persistence/lease_store.hpp"
#include "persistence/memory_lease_store.hpp"
#include "stagecall/ids.hpp"
#include "tests/sim/universe.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::sim {

/// The server that all replicas share, and what it truly granted.
class LeaseServer {
 public:
  LeaseServer(Universe& universe, const Clock& clock)
      : universe_(universe), clock_(clock), leases_(make_memory_leases()) {}

  void flush();
  void forget(const RunId& run);
  void be_away(Duration wait) { away_until_ = universe_.now + wait; }
  bool is_away() const { return universe_.now < away_until_; }

  std::unique_ptr<LeaseStore> connect(const ReplicaIdentity& holder) const;
  std::uint64_t generation() const { return generation_; }  ///< connect again when it has changed

  void granted(const std::string& incarnation, const LeaseRequest& request, Duration ttl);
  void released(const std::string& incarnation, const LeaseRequest& request);
  /// Until when the server keeps the run for this holder; the past, if it does not.
  BootTime kept_until(const std::string& incarnation, const RunId& run) const;
  /// Whether the lease of this run was taken from its holder behind its back.
  bool was_forgotten(const RunId& run) const { return forgotten_.contains(run); }

 private:
  struct Grant {
    LeaseToken token;
    BootTime until;
  };
  Universe& universe_;
  const Clock& clock_;
  std::shared_ptr<MemoryLeases> leases_;  // shared: the connections use them, too
  std::uint64_t generation_ = 0;
  BootTime away_until_{};
  std::map<RunId, std::map<std::string, Grant>> grants_;  // by incarnation
  std::map<RunId, BootTime> forgotten_;
};

/// One replica's line to it.
class SimLeases final : public LeaseStore {
 public:
  SimLeases(Universe& universe, LeaseServer& server, ReplicaIdentity holder, const bool& is_alive)
      : universe_(universe), server_(server), holder_(std::move(holder)), is_alive_(is_alive) {}

  void cut_off(Duration wait) { cut_until_ = universe_.now + wait; }

  Result<std::vector<LeaseVerdict>> acquire(const std::vector<LeaseRequest>& requests,
                                            Duration ttl) override;
  Result<std::vector<LeaseVerdict>> renew(const std::vector<LeaseRequest>& requests,
                                          Duration ttl) override;
  Result<std::vector<LeaseVerdict>> release(const std::vector<LeaseRequest>& requests) override;
  Result<std::vector<ReplicaIdentity>> holders(const std::vector<RunId>& runs) override;
  Result<std::uint64_t> draw_number() override;

 private:
  using Verdicts = Result<std::vector<LeaseVerdict>>;
  template <class Ask>
  Verdicts call(const std::string& what, const std::vector<LeaseRequest>& requests, Duration ttl,
                Ask ask);
  LeaseStore& line();
  void note(const std::string& what, const LeaseRequest& request, const std::string& answer);

  Universe& universe_;
  LeaseServer& server_;
  ReplicaIdentity holder_;
  const bool& is_alive_;
  BootTime cut_until_{};
  std::unique_ptr<LeaseStore> line_;
  std::uint64_t generation_ = 0;
};

}  // namespace stagecall::sim
