// The engine: opens a store, schedules the runs in it, and takes requests for any of them.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/executor.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/pipeline.hpp"
#include "stagecall/run.hpp"
#include "stagecall/task.hpp"
#include "stagecall/time.hpp"
#include "stagecall/trace.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

/// What a commit survives.
enum class Durability : std::uint8_t {
  full,    ///< a power loss: each commit reaches the disk
  normal,  ///< a crash of the process; a power loss may take the last commits, never consistency
};

/// How an engine is opened. A value out of its range is refused before anything is touched.
struct EngineOptions {
  /// Path of the store's file, made with its folders if it is missing. Beside it stand its leases
  /// (`PATH-leases`) and the attempts' logs (`PATH.d/`). `:memory:` = nothing outlives the engine.
  std::string store;
  std::string replica{};  ///< this engine's name, shown to people; empty = host and pid
  Durability durability = Durability::full;  ///< what its commits survive
  Duration tick{5'000};                      ///< between two looks at a quiet run; 50 ms … 1 h
  /// Who keeps the leases: `redis://[user:password@]host:port[/db]`, one, or an odd number of
  /// independent servers, of which a majority decides. Empty = the file beside the store. Engines
  /// that have the store open at the same time must all name the same. A server that cannot be
  /// reached now is no error: runs wait until it can; one that refuses us is.
  std::vector<std::string> leases{};
  Duration lease_ttl{15'000};      ///< length of the right to schedule a run; 1 s … 10 min
  std::uint32_t slots = 0;         ///< attempts at once; 0 = the machine's cores; at most 100,000
  std::uint32_t task_threads = 0;  ///< tasks at once; 0 = as many as slots, at most 64; ≤ 10,000
  /// Takes over live runs that nobody schedules. False: only runs that it was asked to start.
  bool adopts = true;
  /// The host's own executors; the first one that can run a node gets it, before the engine's.
  std::vector<std::shared_ptr<Executor>> executors{};
  TraceOptions trace{};  ///< what is told of its work, and to whom; see Engine::trace
};

/// How a run is started.
struct StartOptions {
  /// Makes the start repeatable: the same id returns the same run, finished or not.
  std::string request_id{};
};

/// A run that was started, or found.
struct StartedRun {
  RunId run;             ///< to name it from now on
  bool created = false;  ///< false: it was there: the pipeline's live run, or the request id's
};

/// What a report from outside may say beside its outcome.
struct NodeDoneOptions {
  std::string output{};                       ///< JSON for the node's successors, ≤ 64 KiB
  std::optional<std::string> force_reason{};  ///< ends any node, whatever its state; recorded
  std::string request_id{};                   ///< the same id twice changes nothing the second time
};

/// Which runs' events; all unless narrowed.
struct EventFilter {
  std::optional<RunId> run{};             ///< of this run alone
  std::optional<std::string> pipeline{};  ///< of this pipeline's runs alone
  Seq after{};  ///< with a run: only passes after this one; without: only what comes from now on
};

/// A recorded fact of a run. Its kinds are those of `stagecall history`.
struct RunEvent {
  RunId run;              ///< whose
  Seq seq;                ///< of the pass that recorded it; several events share one
  WallTime at;            ///< when its pass was decided
  Term term;              ///< under which it was recorded
  std::string_view kind;  ///< `run_started`, `attempt_submitted`, `attempt_ended`, …; static
  std::string node{};     ///< empty: of the run as a whole
  Attempt attempt{};      ///< of the node; 0: none
  std::optional<Outcome> outcome{};  ///< with `attempt_ended` and `node_forced`
  std::optional<RunState> result{};  ///< with `run_ended`
};

/// Called on a thread of the engine's own, one call at a time for each subscription, in the order
/// of each run's history, after the events are durable. May call the engine. What it throws is
/// logged and ends its subscription.
using EventCallback = std::function<void(const RunEvent&)>;

/// Ends its subscription when destroyed: then no call is in progress, unless it is destroyed from
/// within one. May outlive the engine.
class Subscription {
 public:
  class Body;
  /// Made by Engine::subscribe alone.
  explicit Subscription(std::shared_ptr<Body> body);
  /// Moved from, it stands for none.
  Subscription(Subscription&&) noexcept;
  /// Ends the one that stood here.
  Subscription& operator=(Subscription&&) noexcept;
  ~Subscription();

 private:
  std::shared_ptr<Body> body_;  // shared with the engine's feed, which calls it
};

/// One process's share of a store: schedules runs, launches attempts, answers. Any thread may call
/// anything but the destructor and the move. Calls wait for the store (as long as another process
/// may lock it: 30 s), never for attempts, `wait` and `drain` aside. Errors common to all calls:
/// store_unavailable, store_damaged, and not_found where a run is named.
/// What people should know is logged by spdlog, to the logger `stagecall` if the host has
/// registered one before its first engine, else warnings and errors to stderr.
class Engine {
 public:
  /// Opens or makes the store, and begins to schedule. Errors: invalid_argument (which option, what
  /// is allowed), store_unavailable, store_damaged, store_newer, lease_authority,
  /// lease_unavailable, executor_unavailable.
  static Result<Engine> open(EngineOptions options);

  /// Moved from, it may only be destroyed or assigned to.
  Engine(Engine&&) noexcept;
  /// Ends the engine that stood here, as its destruction does.
  Engine& operator=(Engine&&) noexcept;
  /// Drains with no grace: running attempts are ended as interrupted, which uses up none of their
  /// tries, and runs are left to whoever comes next. Returns within ten seconds or so, whatever
  /// tasks do; later only while a subscription's callback does not return, or another process keeps
  /// the store locked (30 s). Not from within a task or a callback.
  ~Engine();

  /// Names a callable for the nodes that say so. Runs whose tasks are not all registered here are
  /// not scheduled here; they are taken up once they are. A name of a built-in task (`noop`,
  /// `sleep`) replaces that. invalid_argument: an empty or taken name, an empty callable.
  Result<void> register_task(std::string name, Task task);

  /// Starts the next run of the pipeline, or returns its live one if it already has as many as it
  /// may. Durable when it returns. Errors: invalid_pipeline (with problems), different_pipeline
  /// (the run found is of another definition).
  Result<RunId> start(const Pipeline& pipeline, const StartOptions& options = {});
  /// The same, and says whether the run is new.
  Result<StartedRun> start_or_join(const Pipeline& pipeline, const StartOptions& options = {});

  /// Asks a run to stop: durable when it returns; what runs is ended by and by. False: it changed
  /// nothing, as the run has ended, or was asked before.
  Result<bool> stop(const RunId& run);

  /// Reports the end of an external node's attempt (0 = the current one). Durable when it returns.
  /// False: it changed nothing: the run has ended, or a report came before. Errors: not_found,
  /// not_external, not_waiting, old_attempt, invalid_argument (an outcome other than succeeded or
  /// failed, an output that is not JSON or too long).
  Result<bool> node_done(const RunId& run, const std::string& node, std::uint32_t attempt,
                         const Outcome& outcome, const NodeDoneOptions& options = {});

  /// Waits until the run has ended, wherever it is scheduled, or the time is over: see state.
  Result<RunStatus> wait(const RunId& run, Duration wait);
  /// The run as it stands.
  Result<RunStatus> status(const RunId& run);
  /// All runs of the store, by pipeline and iteration.
  Result<std::vector<RunStatus>> runs();
  /// What a node's last successful attempt has left: JSON; none if nothing.
  Result<std::optional<std::string>> output(const RunId& run, const std::string& node);
  /// Why nodes do not run, and what would change it: of one node, or of all that have not ended
  /// well.
  Result<std::vector<NodeExplanation>> explain(const RunId& run, const std::string& node = {});

  /// Calls back for each recorded event of the runs that the filter names, wherever they are
  /// scheduled; those scheduled elsewhere are seen within a tick. A slow callback delays only its
  /// own subscription: what it has not been told yet waits in the store.
  Result<Subscription> subscribe(const EventFilter& filter, EventCallback callback);

  /// Its name, as given or made of host and pid.
  std::string replica() const;

  /// What this engine has done, by `actor.counter`: `store.commits`, `store.writes`,
  /// `supervisor.adopted`, `custodian.launched`, … Counted from its opening.
  std::map<std::string, std::uint64_t> counters();

  /// What lives in this engine now: its actors, what each has handled and what it waits for. One
  /// that does not answer at once is listed as busy.
  EngineInsight inspect();

  /// Tells this trace from now on instead of the one before; without a sink, none. The one before
  /// has been told all of it when this returns, unless its sink takes longer than two seconds.
  /// While none is told a message costs a comparison, and nothing is kept for it.
  void trace(const TraceOptions& options);

  /// Starts nothing more; attempts may go on for the grace, then they end as interrupted. Returns
  /// when all is recorded and released, at latest a few seconds after the grace. Afterwards the
  /// engine schedules nothing; it still answers.
  void drain(Duration grace);

 private:
  class Body;
  explicit Engine(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace stagecall
