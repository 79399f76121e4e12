#include "actors/run_trace.hpp"

#include "platform/system_clock.hpp"

#include <algorithm>
#include <variant>

namespace stagecall {

/// Asked once of each trace; what was noted for another one is out of date.
bool RunTrace::is_wanted() {
  if (tracer_ == nullptr || !tracer_->is_on()) {
    return false;
  }
  if (const auto generation = tracer_->generation(); generation != generation_) {
    generation_ = generation;
    wanted_ = tracer_->wants_run(run_.text());
    launched_.clear();
    ended_.clear();
    if (wanted_ && actor_.value != 0) {
      tracer_->tell(TracedTerm{actor_, run_, term_, trace_now(), true});
    }
  }
  return wanted_;
}

void RunTrace::begins(ActorNumber actor, Term term) {
  actor_ = actor;
  term_ = term;
  static_cast<void>(is_wanted());
}

void RunTrace::ends() {
  if (is_wanted()) {
    tracer_->tell(TracedTerm{actor_, run_, term_, trace_now(), false});
  }
}

void RunTrace::ticked(Duration late) {
  if (is_wanted()) {
    tracer_->tell(TracedTick{actor_, trace_now(), late});
  }
}

void RunTrace::reported(const std::vector<ReportInput>& reports) {
  if (!is_wanted()) {
    return;
  }
  for (const ReportInput& report : reports) {
    if (std::holds_alternative<SaysEnded>(report.news)) {
      ended_.try_emplace({report.node, report.attempt}, trace_now());
    }
  }
}

void RunTrace::recorded(const std::vector<Event>& events, const PipelineState& before,
                        WallTime now) {
  if (!is_wanted()) {
    return;
  }
  for (const Event& event : events) {
    if (const auto* submitted = std::get_if<AttemptSubmitted>(&event)) {
      launched_[{submitted->node, submitted->attempt}] = trace_now();
    } else if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
      tell_end(*ended, before, now);
    }
  }
}

void RunTrace::tell_end(const AttemptEnded& event, const PipelineState& before, WallTime now) {
  const std::string& node = before.spec(event.node).id;
  const TraceTime recorded = trace_now();
  TracedAttempt attempt{.actor = actor_,
                        .run = run_,
                        .node = node,
                        .attempt = event.attempt,
                        .ended = recorded,
                        .recorded = recorded,
                        .outcome = event.outcome};
  if (const auto ended = ended_.extract({node, event.attempt})) {
    attempt.ended = ended.mapped();
  }
  if (const auto launched = launched_.extract({event.node, event.attempt})) {
    attempt.launched = launched.mapped();
    attempt.is_local = true;
  } else {
    // Before this trace, or by another holder: the record knows to the millisecond.
    attempt.launched = std::min(attempt.ended, recorded - (now - before.node(event.node).since));
  }
  tracer_->tell(std::move(attempt));
}

}  // namespace stagecall
