// Which runs this replica schedules: starts them, adopts those whose holder is gone, spawns and
// watches their actors, and tells them of their inbox. Adoption: lease, then term, then history.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/observed.hpp"
#include "actors/pipeline_actor.hpp"
#include "actors/settings.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

namespace stagecall {

/// Told, on the supervisor's thread, when a run's actor has ended here: its result, or why the run
/// was let go. Must not block.
using RunLeftCallback = std::function<void(const RunLeft&)>;

class Supervisor : public Observed<SupervisorHandle::base> {
 public:
  Supervisor(caf::actor_config& config, Colleagues colleagues, SharedSettings settings,
             RunLeftCallback on_run_left);

  const char* name() const override { return "supervisor"; }
  behavior_type make_behavior() override;
  /// Its runs' actors end with it.
  void on_exit() override;

 private:
  using StartPromise = caf::typed_response_promise<StartResponse>;
  using InboxPromise = caf::typed_response_promise<InboxRequestResponse>;

  StartPromise start(const StartRequest& request);
  void insert(const StartRequest& request, StartPromise promise, const std::string& lacking);
  void started(const StartRequest& request, const RunStartedReply& reply,
               std::vector<Event> events);
  InboxPromise put_inbox(const InboxRequest& request);
  void join(const RunId& run);
  void survey(bool whole);
  void survey_failed(const std::string& cause);
  void take(const Survey& survey);
  bool may_adopt(const RunId& run) const;
  void adopt(const LiveRun& run);
  void judge_fitness(const LiveRun& run);
  void judged(const LiveRun& run, std::shared_ptr<const Definition> definition);
  void acquire(const LiveRun& run);
  bool not_leased(const RunId& run, const Error& error);
  void open_term(const RunId& run, Term term_read, Trust trust);
  void load(const RunId& run, Term term, Trust trust);
  void load_failed(const RunId& run, const Error& error);
  void loaded(LoadedRun run, Term term, Trust trust);
  void spawn_run(HeldRun held);
  void quarantine(const RunId& run, const std::string& reason);
  Condition condition(const RunId& run) const;
  void give_up(const RunId& run, const std::string& reason);
  void left(const RunLeft& news);
  void forget(const caf::actor_addr& actor);
  void nudged(const std::string& text);
  void parked(const RunParked& news);
  void note_parked(const RunId& run, Term term, const std::string& reason);
  void drain(const Drain& drain);
  void arm();
  std::shared_ptr<const Definition> definition(const std::string& hash, const std::string& text);

  Colleagues colleagues_;
  SharedSettings settings_;
  RunLeftCallback on_run_left_;
  std::map<RunId, PipelineHandle> runs_;
  std::unordered_map<caf::actor_id, RunId> run_of_;
  std::set<RunId> joined_;                 // to be scheduled here if nobody does
  std::set<RunId> adopting_;               // definition, lease, term or history asked for
  std::map<RunId, std::string> broken_;    // why their history cannot be read: left alone
  std::map<RunId, std::string> parked_;    // of runs_, why
  std::map<RunId, std::string> unleased_;  // wanted, but the lease store cannot be asked: its word
  std::unordered_map<DefinitionHash, std::string> lacking_;  // judged: what is not here, or nothing
  std::unordered_map<std::string, std::weak_ptr<const Definition>> definitions_;
  std::map<RunId, LiveRun> foreign_;  // not held here, as last read
  bool survey_whole_ = false;
  bool draining_ = false;
  std::map<std::string, std::uint64_t> counters_;
};

}  // namespace stagecall
