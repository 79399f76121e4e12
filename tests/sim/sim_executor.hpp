// What runs attempts in a simulation. The table is the truth of all attempts of all replicas; an
// executor is one replica's hand on it, which may end them early, late, twice or never, forget
// them, answer "unknown", take a batch and say that it failed.
#pragma once

#include "stagecall/executor.hpp"
#include "tests/sim/universe.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecall::sim {

class Checker;

struct SimAttempt {
  std::string launcher;                  ///< incarnation
  std::shared_ptr<const NodeSpec> node;  // shared with the run's definition
  Term term;
  bool dies_with_process = false;  ///< a task; else its end outlives its engine
  bool is_running = true;          ///< the truth
  BootTime ends_at = BootTime::max();
  SaysEnded end{};
  bool is_told = false;
  bool is_forgotten = false;  ///< by its executor
  bool is_acknowledged = false;
  bool ignores_cancel = false;
  bool was_refused = false;  ///< its submit threw
  BootTime unknown_until{};
};

class AttemptTable {
 public:
  explicit AttemptTable(Universe& universe) : universe_(universe) {}

  SimAttempt* find(const AttemptKey& key);
  std::map<AttemptKey, SimAttempt>& all() { return attempts_; }
  /// Tasks end with their process, commands soon after, their ends on record.
  void launcher_gone(const std::string& incarnation);
  bool is_gone(const std::string& incarnation) const { return gone_.contains(incarnation); }
  /// Ends what is due of those whose launcher is gone.
  void step();
  /// From now on everything ends soon.
  void come_to_rest();
  bool is_at_rest() const { return is_at_rest_; }

 private:
  Universe& universe_;
  std::map<AttemptKey, SimAttempt> attempts_;
  std::set<std::string> gone_;
  bool is_at_rest_ = false;
};

class SimExecutor final : public Executor {
 public:
  SimExecutor(Universe& universe, AttemptTable& table, Checker& checker, std::string incarnation,
              const bool& is_alive)
      : universe_(universe),
        table_(table),
        checker_(checker),
        incarnation_(std::move(incarnation)),
        is_alive_(is_alive) {}

  /// Ends what is due, and says so. Not called while its process stands still.
  void step();

  std::string_view name() const override { return "simulated"; }
  Result<void> open(ReportSink& sink) override {
    sink_ = &sink;
    return {};
  }
  bool can_run(const NodeSpec&) const override { return true; }
  void submit(std::vector<Launch> launches) override;
  void cancel(std::vector<Cancel> cancels) override;
  void query(std::vector<AttemptQuery> queries) override;
  void acknowledge(std::vector<AttemptKey> keys) override;
  void close(Duration) override {}

 private:
  void launch(const Launch& launch);
  void plan(const Launch& launch, SimAttempt& attempt);
  AttemptNews news_of(const AttemptQuery& query);
  void say(const AttemptKey& key, AttemptNews news);
  void end(const AttemptKey& key, SimAttempt& attempt);

  Universe& universe_;
  AttemptTable& table_;
  Checker& checker_;
  std::string incarnation_;
  const bool& is_alive_;
  ReportSink* sink_ = nullptr;
  std::set<AttemptKey> cancelled_;  // before their submit
};

}  // namespace stagecall::sim
