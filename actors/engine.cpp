// Engine as hosts see it: each call checked, put to the engine's parts, and answered.
#include "stagecall/engine.hpp"

#include "actors/attempt_inputs.hpp"
#include "actors/engine_body.hpp"
#include "actors/holder.hpp"
#include "actors/run_reader.hpp"
#include "core/admission.hpp"
#include "core/explain.hpp"
#include "formats/output_text.hpp"

#include <algorithm>
#include <utility>

namespace stagecall {
namespace {

/// How late a look at a run may be that is scheduled elsewhere.
constexpr Duration kLook{100};
constexpr Duration kWaitMax = std::chrono::hours{24 * 3653};  // ten years

template <class T>
tl::unexpected<Error> same_error(const Result<T>& failed) {
  return tl::unexpected<Error>{failed.error()};
}

Result<RunRow> read_row(SharedStore& reader, const RunId& run) {
  return reader.with([&run](Store& store) { return store.run(run); });
}

Result<PipelineState> read_state(SharedStore& reader, const RunRow& row) {
  return reader.with([&row](Store& store) { return fold_run(store, row); });
}

Error different_pipeline(const RunId& run, bool has_ended) {
  return {ErrorCode::different_pipeline,
          has_ended ? "start: this request id has started " + run.text() +
                          ", which has another definition; use another id"
                    : "start: " + run.text() +
                          " is live with another definition; wait for it or stop it first"};
}

/// Whether a request of this id was put to the run before; an empty id is none.
Result<bool> knows_request(SharedStore& reader, const RunId& run, const std::string& request_id) {
  return request_id.empty()
             ? Result<bool>{false}
             : reader.with([&](Store& store) { return store.knows_request(run, request_id); });
}

}  // namespace

Engine::Engine(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::open(EngineOptions options) {
  auto body = Body::open(std::move(options));
  if (!body) {
    return same_error(body);
  }
  return Engine{*std::move(body)};
}

Result<void> Engine::register_task(std::string name, Task task) {
  return body_->register_task(std::move(name), std::move(task));
}

Result<RunId> Engine::start(const Pipeline& pipeline, const StartOptions& options) {
  return start_or_join(pipeline, options).map([](const StartedRun& started) {
    return started.run;
  });
}

Result<StartedRun> Engine::start_or_join(const Pipeline& pipeline, const StartOptions& options) {
  const auto definition = pipeline.definition();
  if (!definition) {
    return same_error(definition);
  }
  const auto started = body_->start(*definition, options.request_id);
  if (!started) {
    return same_error(started);
  }
  const RunRow& row = started->row;
  if (!started->created && !is_run_of(row, **definition)) {
    return tl::unexpected<Error>{different_pipeline(row.run, is_terminal(row.summary.state))};
  }
  return StartedRun{row.run, started->created};
}

Result<bool> Engine::stop(const RunId& run) {
  const auto put = body_->put(run, StopInput{"stop"}, {});
  if (!put) {
    return same_error(put);
  }
  return put->is_stored();
}

Result<bool> Engine::node_done(const RunId& run, const std::string& node, std::uint32_t attempt,
                               const Outcome& outcome, const NodeDoneOptions& options) {
  NodeDoneInput input{.node = node,
                      .outcome = outcome,
                      .output = options.output,
                      .force_reason = options.force_reason};
  if (attempt > 0) {
    input.attempt = Attempt{attempt};
  }
  if (auto checked = check_output(options.output); !checked) {
    return same_error(checked);
  }
  const auto row = read_row(body_->reader(), run);
  if (!row) {
    return same_error(row);
  }
  const auto state = read_state(body_->reader(), *row);
  const auto is_repeat = knows_request(body_->reader(), run, options.request_id);
  if (!state || !is_repeat) {
    return state ? same_error(is_repeat) : same_error(state);
  }
  const auto admitted = admit_node_done(*state, input, *is_repeat);
  if (!admitted) {
    return fail(admitted.error().code, "node_done " + run.text() + ": " + admitted.error().message);
  }
  if (!*admitted) {
    return false;
  }
  if (**admitted > Attempt{}) {
    input.attempt = **admitted;
  }
  const auto put = body_->put(run, std::move(input), options.request_id);
  if (!put) {
    return same_error(put);
  }
  return put->is_stored();
}

Result<RunStatus> Engine::wait(const RunId& run, Duration wait) {
  const BootTime deadline = body_->clock().boot() + std::min(wait, kWaitMax);
  while (true) {
    const std::uint64_t departures = body_->departures().count();
    const auto row = read_row(body_->reader(), run);
    if (!row) {
      return same_error(row);
    }
    const Duration left = deadline - body_->clock().boot();
    if (is_terminal(row->summary.state) || left <= Duration{0}) {
      return status(run);
    }
    body_->departures().wait_past(departures, std::min(left, kLook));
  }
}

Result<RunStatus> Engine::status(const RunId& run) {
  Condition condition = body_->condition(run);
  // An end is durable before the run's actor knows of its commit: then the store is ahead of it.
  const auto stored = read_row(body_->reader(), run);
  const bool has_ended = stored && is_terminal(stored->summary.state);
  if (auto held = has_ended ? std::nullopt : body_->view(run, condition)) {
    return std::move(held->status);
  }
  const auto elsewhere = stored ? body_->view_elsewhere(*stored) : std::nullopt;
  return body_->reader().with([&](Store& store) -> Result<RunStatus> {
    const auto row = store.run(run);
    if (!row) {
      return same_error(row);
    }
    RunReport report = report_run(store, *row, body_->clock().wall());
    RunStatus& status = report.status;
    if (elsewhere) {
      add_held(*elsewhere, status);
    }
    status.quarantined = condition.quarantined.empty() ? report.quarantined : condition.quarantined;
    if (!is_terminal(status.state) && !condition.lacking.empty()) {
      status.parked = "no executor here runs " + condition.lacking;
    } else if (!is_terminal(status.state) && !condition.parked.empty()) {
      status.parked = condition.parked;
    }
    return std::move(status);
  });
}

Result<std::vector<RunStatus>> Engine::runs() {
  return body_->reader().with([this](Store& store) -> Result<std::vector<RunStatus>> {
    const auto rows = store.runs();
    if (!rows) {
      return same_error(rows);
    }
    std::vector<RunStatus> all;
    for (const RunRow& row : *rows) {
      all.push_back(report_run(store, row, body_->clock().wall()).status);
    }
    return all;
  });
}

Result<std::optional<std::string>> Engine::output(const RunId& run, const std::string& node) {
  const auto row = read_row(body_->reader(), run);
  if (!row) {
    return same_error(row);
  }
  const auto definition =
      body_->reader().with([&row](Store& store) { return read_definition(store, *row); });
  if (!definition) {
    return same_error(definition);
  }
  const auto index = (*definition)->find(node);
  if (!index) {
    return fail(ErrorCode::not_found, run.text() + " has no node \"" + node + '"');
  }
  auto outputs = read_outputs(body_->reader(), run, **definition, {*index});
  if (!outputs) {
    return same_error(outputs);
  }
  const auto found = outputs->find(node);
  return found == outputs->end() ? std::nullopt : std::optional{std::move(found->second)};
}

Result<std::vector<NodeExplanation>> Engine::explain(const RunId& run, const std::string& node) {
  const auto row = read_row(body_->reader(), run);
  if (!row) {
    return same_error(row);
  }
  const auto state = read_state(body_->reader(), *row);
  if (!state) {
    return same_error(state);
  }
  std::optional<NodeIndex> index;
  if (!node.empty()) {
    index = state->definition().find(node);
    if (!index) {
      return fail(ErrorCode::not_found, run.text() + " has no node \"" + node + '"');
    }
  }
  const Condition condition = body_->condition(run);
  ExplainContext context{.now = body_->clock().wall(),
                         .parked = condition.parked,
                         .quarantined = condition.quarantined};
  if (const auto view = body_->view(run, condition)) {
    add_held(view->held, context);
  } else if (const auto elsewhere = body_->view_elsewhere(*row)) {
    add_held(*elsewhere, context);
  } else {
    context.without_executor = body_->without_executor(state->shared_definition());
  }
  return stagecall::explain(*state, context, index);
}

Result<Subscription> Engine::subscribe(const EventFilter& filter, EventCallback callback) {
  if (!callback) {
    return fail(ErrorCode::invalid_argument, "subscribe: the callback is empty");
  }
  return body_->feed().subscribe(filter, std::move(callback)).map([](auto body) {
    return Subscription{std::move(body)};
  });
}

std::string Engine::replica() const {
  return body_->settings()->self.replica;
}

std::map<std::string, std::uint64_t> Engine::counters() {
  std::map<std::string, std::uint64_t> counters;
  for (const ActorInsight& actor : body_->describe()) {
    for (const auto& [name, count] : actor.counters) {
      counters[actor.kind + "." + name] = count;
    }
    counters[actor.kind + ".handled"] = actor.handled;
  }
  return counters;
}

EngineInsight Engine::inspect() {
  return body_->inspect();
}

void Engine::trace(const TraceOptions& options) {
  body_->trace(options);
}

void Engine::drain(Duration grace) {
  body_->drain(std::clamp(grace, Duration{0}, kWaitMax));
}

}  // namespace stagecall
