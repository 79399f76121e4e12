// What a run's actor tells the trace of its run: terms, ticks, attempts from launch to record.
// Costs one look while there is no trace.
#pragma once

#include "actors/tracer.hpp"
#include "core/pipeline_state.hpp"
#include "messages/events.hpp"
#include "messages/inputs.hpp"
#include "stagecall/trace.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecall {

class RunTrace {
 public:
  /// No tracer: nothing is ever told.
  RunTrace(Tracer* tracer, RunId run) : tracer_(tracer), run_(std::move(run)) {}

  void begins(ActorNumber actor, Term term);
  void ends();
  void ticked(Duration late);
  /// What executors say; their ends count from here.
  void reported(const std::vector<ReportInput>& reports);
  /// These events are durable; the state is that before them.
  void recorded(const std::vector<Event>& events, const PipelineState& before, WallTime now);

 private:
  using Try = std::pair<NodeIndex, Attempt>;

  bool is_wanted();
  void tell_end(const AttemptEnded& event, const PipelineState& before, WallTime now);

  Tracer* tracer_;
  RunId run_;
  ActorNumber actor_{};
  Term term_{};
  std::uint64_t generation_ = 0;
  bool wanted_ = false;
  std::map<Try, TraceTime> launched_;                           // not ended yet
  std::map<std::pair<std::string, Attempt>, TraceTime> ended_;  // not recorded yet
};

}  // namespace stagecall
