// The seam to what runs attempts: tasks, commands, Slurm jobs, or a host's own executor.
// The engine decides what runs and when; an executor only launches, ends and tells.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/pipeline.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecall {

/// What the dependencies of an attempt's node have left, read when asked for.
class AttemptInputs {
 public:
  virtual ~AttemptInputs() = default;
  /// JSON texts by node id, of those dependencies that left one; at most 16 MiB in sum, else
  /// limit_reached. Any thread; may block on the store; store_unavailable while it cannot be read,
  /// also after the engine is gone: an abandoned task may still ask.
  virtual Result<std::map<std::string, std::string>> read() const = 0;
};

/// One recorded attempt to be launched.
struct Launch {
  AttemptKey key;                        ///< launched at most once, ever
  std::shared_ptr<const NodeSpec> node;  ///< shared with the run's definition; immutable
  Term term;  ///< under which it was recorded; for the attempt to check at its own resource
  /// Compare immediately before the launch; past it, end it as not_launched.
  BootTime trusted_until;
  std::shared_ptr<const AttemptInputs> inputs{};  ///< none: the node waits for no other
};

/// Why an attempt is told to end.
enum class CancelReason : std::uint8_t {
  stop,     ///< its run was told to stop: ends as stopped
  timeout,  ///< its time, or its run's, is over: ends as timed_out
  lost,     ///< it was declared lost and is replaced: ends as lost
  drain,    ///< its engine ends: ends as interrupted
};

/// Asks an attempt to end: first gently, then, `grace` later, by force. Repeats change nothing.
struct Cancel {
  AttemptKey key;                            ///< also of one that is not here, or not yet
  CancelReason reason = CancelReason::stop;  ///< says how it is to end
  Duration grace{10'000};                    ///< from the request to the use of force
};

/// The attempt is running now. Timeouts count from here; where it is never said, from the submit.
struct SaysRunning {
  friend bool operator==(const SaysRunning&, const SaysRunning&) = default;
};
/// The attempt runs, and so much of it is done.
struct SaysProgress {
  double fraction = 0;  ///< 0 … 1; what lies outside is clamped
  friend bool operator==(const SaysProgress&, const SaysProgress&) = default;
};
/// The attempt has ended: nothing of it runs any more, or its executor has abandoned it. Said once,
/// and again when queried, until it is acknowledged. The first end of a key counts.
struct SaysEnded {
  Outcome outcome;  ///< how
  std::string
      output{};  ///< JSON left by the attempt, ≤ 64 KiB, checked by its executor; empty = none
  friend bool operator==(const SaysEnded&, const SaysEnded&) = default;
};
/// Answer to a query: it is in my hands and has not ended.
struct SaysAlive {
  friend bool operator==(const SaysAlive&, const SaysAlive&) = default;
};
/// Answer to a query: I neither have it nor know its end. Proven: what launched it is gone, so
/// that its end will never be told.
struct SaysAbsent {
  bool proven = false;  ///< no need to wait whether it turns up
  friend bool operator==(const SaysAbsent&, const SaysAbsent&) = default;
};
/// Answer to a query: cannot tell now.
struct SaysUnknown {
  friend bool operator==(const SaysUnknown&, const SaysUnknown&) = default;
};
/// What an executor may say of an attempt.
using AttemptNews =
    std::variant<SaysRunning, SaysEnded, SaysAlive, SaysAbsent, SaysUnknown, SaysProgress>;

/// Asks what became of an attempt.
struct AttemptQuery {
  AttemptKey key;           ///< which
  std::string incarnation;  ///< of the engine that launched it
  /// That engine is this one. False: it is gone, proven by its process; an executor whose attempts
  /// end with their process answers SaysAbsent{proven}.
  bool is_own = true;
};

/// One attempt's news.
struct AttemptReport {
  AttemptKey key;    ///< which
  AttemptNews news;  ///< what is to be said of it
  friend bool operator==(const AttemptReport&, const AttemptReport&) = default;
};

/// Where an executor tells what became of attempts. Callable from any thread, also from within a
/// call to the executor; never blocks; outlives the executor.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  /// Hands the news on, in their order; those of one attempt are taken in the order of the calls.
  virtual void report(std::vector<AttemptReport> reports) = 0;
};

/// Calls come one at a time, though from different threads, return soon and do not throw. Results
/// arrive as reports. An executor belongs to one engine. Every call is idempotent by key: a second
/// submit of a key launches nothing, and a cancel that comes before its submit makes that submit
/// end as stopped, unlaunched. A host's own executor can be checked against all this:
/// stagecall/testing/executor_contract.hpp.
class Executor {
 public:
  virtual ~Executor() = default;

  /// `task`, `process`, `slurm` or the host's own name; for people.
  virtual std::string_view name() const = 0;
  /// Called once, before any other call. After an error no other call follows; it is the error of
  /// Engine::open.
  virtual Result<void> open(ReportSink& sink) = 0;
  /// Whether this executor can run the node (its task is registered, its program kind known). Once
  /// true it stays so: cancels, queries and acknowledgements find their way by it. Called often.
  virtual bool can_run(const NodeSpec& node) const = 0;
  /// One that it cannot run ends as rejected, one past its trusted_until as not_launched.
  virtual void submit(std::vector<Launch> launches) = 0;
  /// Ends as the reason says: stopped, timed_out, lost or interrupted; before its submit always as
  /// stopped. Work that is done all the same may end as succeeded. The first reason counts. Changes
  /// nothing once ended.
  virtual void cancel(std::vector<Cancel> cancels) = 0;
  /// Each key is answered by SaysAlive, SaysEnded, SaysAbsent or SaysUnknown.
  virtual void query(std::vector<AttemptQuery> queries) = 0;
  /// The ends of these keys are durable: what was kept of them may go, but for that they were here.
  /// Changes nothing for a key that has not ended.
  virtual void acknowledge(std::vector<AttemptKey> keys) = 0;
  /// Ends what still runs or waits (as `interrupted`), reports it and returns, within `deadline`,
  /// whatever grace was given. The last call; after it the sink is not called any more.
  virtual void close(Duration deadline) = 0;
};

}  // namespace stagecall
