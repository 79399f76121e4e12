// What an engine consists of, and the blocking calls that threads outside its actors make.
#pragma once

#include "actors/assembly.hpp"
#include "actors/departures.hpp"
#include "actors/engine_stores.hpp"
#include "actors/event_feed.hpp"
#include "actors/traced_system.hpp"
#include "platform/incarnations.hpp"
#include "platform/system_clock.hpp"
#include "stagecall/engine.hpp"

#include <caf/actor_system.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecall {

class ControlServer;
class NudgeReceiver;
class TaskPool;
struct TraceQuestion;

/// Thread-safe once it is open. Its actors live in a system of its own: a host that blocks its own
/// scheduler's threads cannot make it lose leases.
class Engine::Body {
 public:
  static Result<std::unique_ptr<Body>> open(EngineOptions options);
  /// As Engine's.
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  Result<void> register_task(std::string name, Task task);
  Result<RunStartedReply> start(std::shared_ptr<const Definition> definition,
                                const std::string& request_id);
  Result<InboxReply> put(const RunId& run, InboxMessage message, const std::string& request_id);
  /// How the run stands with this engine's supervisor.
  Condition condition(const RunId& run);
  /// The run as it is held here; none = it is not, or nobody answers within Limits::inspect_wait.
  std::optional<RunView> view(const RunId& run, const Condition& condition);
  /// The same from whoever holds it, when that is another process or engine.
  std::optional<HeldView> view_elsewhere(const RunRow& row);
  /// The nodes that nothing here runs.
  std::set<NodeIndex> without_executor(const std::shared_ptr<const Definition>& definition);
  std::vector<ActorInsight> describe();
  /// Returns within Limits::inspect_wait, or twice that.
  EngineInsight inspect();
  void trace(const TraceOptions& options);
  /// Where its trace goes, for people; empty: it has none.
  std::string trace_place();
  void drain(Duration grace);

  SharedStore& reader() { return *stores_->reader; }
  Departures& departures() { return departures_; }
  EventFeed& feed() { return *feed_; }
  const Clock& clock() const { return clock_; }
  const SharedSettings& settings() const { return settings_; }

 private:
  explicit Body(EngineOptions options);
  Result<void> open_stores();
  Result<void> open_executors();
  Result<void> open_nudges();
  Result<void> open_control();
  std::string answer(const std::string& line);
  void spawn_colleagues();
  void begin();
  RunList runs();
  void switch_trace(const TraceOptions& options);
  /// Empty: the line does not ask this engine for its trace.
  std::string answer_trace(const std::string& line);
  std::string start_trace(const TraceQuestion& question, std::string& place);

  EngineOptions options_;
  SystemClock clock_;
  SharedSettings settings_;
  std::optional<LiveIncarnation> incarnation_;
  std::optional<EngineStores> stores_;
  std::unique_ptr<EventFeed> feed_;
  std::unique_ptr<ReportSink> sink_;
  std::shared_ptr<TaskPool> tasks_;
  std::vector<std::shared_ptr<Executor>> executors_;  // shared with the host, if it brought them
  std::size_t opened_ = 0;                            // of these, from the first on
  Departures departures_;
  std::mutex trace_mutex_;   // one switches at a time
  std::string trace_place_;  // guarded by trace_mutex_
  TracedSystemConfig config_;
  std::unique_ptr<caf::actor_system> system_;
  std::optional<ReplicaActors> actors_;
  std::unique_ptr<NudgeReceiver> nudges_;
  std::shared_ptr<ControlServer> control_;  // shared by none: so its type needs not be known here
};

}  // namespace stagecall
