// Watches a simulation: every commit, launch and acknowledgement is held against what must be true.
// Reads the store's truth by a connection of its own, which no fault touches.
#pragma once

#include "core/history_check.hpp"
#include "persistence/store.hpp"
#include "stagecall/executor.hpp"
#include "tests/sim/universe.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::sim {

class AttemptTable;
class LeaseServer;

class Checker {
 public:
  Checker(Universe& universe, Store& truth, AttemptTable& attempts, const LeaseServer& leases,
          std::uint32_t slots)
      : universe_(universe), truth_(truth), attempts_(attempts), leases_(leases), slots_(slots) {}

  void before_commit(const std::vector<Write>& batch);
  void committed(const Write& write, const Result<Reply>& reply);
  void launched(const Launch& launch, const std::string& incarnation);
  void acknowledged(const AttemptKey& key);
  /// When every run has ended and nothing is on its way any more.
  void at_the_end();

  std::uint64_t passes() const { return passes_; }
  bool all_ended() const;
  std::size_t live() const;
  std::vector<RunId> runs() const;
  const PipelineState& state(const RunId& run) const { return runs_.at(run)->check.state(); }
  /// An attempt that is open in the history, and not known to be absent.
  bool is_waited_for(const AttemptKey& key) const;

 private:
  struct Watched {
    explicit Watched(std::shared_ptr<const Definition> definition) : check(std::move(definition)) {}
    HistoryCheck check;
    std::size_t blamed = 0;
    Seq seen;
    RunSummary summary{};
    std::string owner{};
    std::set<std::int64_t> consumed{};
    std::set<std::int64_t> consumed_in_vain{};                // by a pass without events
    std::map<std::pair<NodeIndex, Attempt>, Nonce> nonces{};  // of attempts that were submitted
  };

  void follow(const RunId& run);
  void take(const RunId& run, Watched& watched, const StoredPass& stored);
  void check_row(const RunRow& row, Watched& watched);
  void check_wake_up(const RunRow& row, const PipelineState& state);
  void check_consumed(const AppendPass& append);
  void check_effects_of_inbox(const AppendPass& append);
  void check_end(const AttemptKey& key, const AttemptEnded& ended);
  void check_trust(const Launch& launch, const std::string& incarnation);
  void check_slots(const Launch& launch, const std::string& incarnation);
  bool is_open(const AttemptKey& key) const;
  bool waits_in_inbox(const AttemptKey& key);

  Universe& universe_;
  Store& truth_;
  AttemptTable& attempts_;
  const LeaseServer& leases_;
  std::uint32_t slots_;
  std::map<RunId, std::unique_ptr<Watched>> runs_;
  std::map<RunId, std::map<std::int64_t, InboxMessage>> inbox_before_;  // of rows being consumed
  std::set<std::uint64_t> unlaunched_;  // nonces recorded as never launched
  std::set<std::uint64_t> confirmed_;   // nonces whose end is recorded as certain
  std::uint64_t passes_ = 0;
};

}  // namespace stagecall::sim
