// What a run's actor says of itself when asked. Part of PipelineActor.
#include "actors/pipeline_actor.hpp"
#include "core/explain.hpp"

#include <algorithm>

namespace stagecall {

RunStatus PipelineActor::status() const {
  const RunRecord& run = state_.run();
  const WallTime end = is_terminal(run.state) ? run.ended_at : now();
  RunStatus status{.run = run_,
                   .state = run.state,
                   .elapsed = end - run.started_at,
                   .nodes = run.counts,
                   .passes = passes_,
                   .failed = state_.failures(),
                   .running = running_nodes(state_, now())};
  progress_.add_to(status.running, state_);
  return status;
}

RunView PipelineActor::view() const {
  RunView view{.status = status()};
  view.held = {.run = run_,
               .term = term_,
               .replica = settings_->self.replica,
               .is_draining = draining_,
               .lease_left = trusted_until_ - settings_->clock->boot(),
               .slots_free = slots_granted_ - std::min(slots_granted_, state_.run().slots_busy),
               .slots_contended = slots_contended_,
               .progress = progress_of(view.status.running)};
  return view;
}

ActorInsight PipelineActor::describe() {
  ActorInsight insight =
      this->insight({{"passes_tick", passes_.tick}, {"passes_event", passes_.event}});
  const BootTime boot = settings_->clock->boot();
  insight.run = {.run = run_,
                 .state = state_.run().state,
                 .term = term_,
                 .attempts = static_cast<std::uint32_t>(state_.open().size()),
                 .next_tick = std::max(Duration{0}, tick_due_ - boot),
                 .lease_left = trusted_until_ - boot,
                 .is_parked = parked_};
  return insight;
}

}  // namespace stagecall
