// Switches an engine's trace: as its host says, or somebody by its control socket. Part of
// Engine::Body.
#include "actors/engine_body.hpp"
#include "persistence/trace_question.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecall {
namespace {

/// None: a run's name is none.
Result<TraceOptions> options_of(const TraceQuestion& question) {
  TraceOptions options{.kinds = question.kinds};
  for (const std::string& text : question.runs) {
    const auto run = RunId::parse(text);
    if (!run) {
      return fail(ErrorCode::invalid_argument, "trace: \"" + text + "\" names no run");
    }
    options.runs.push_back(*run);
  }
  auto sink = open_chrome_trace(question.file);
  if (!sink) {
    return tl::unexpected<Error>{std::move(sink).error()};
  }
  options.sink = *std::move(sink);
  return options;
}

}  // namespace

void Engine::Body::trace(const TraceOptions& options) {
  const std::lock_guard lock{trace_mutex_};
  switch_trace(options);
}

std::string Engine::Body::trace_place() {
  const std::lock_guard lock{trace_mutex_};
  return trace_place_;
}

/// With trace_mutex_ held.
void Engine::Body::switch_trace(const TraceOptions& options) {
  if (options.sink) {
    config_.tracer.start(options, {settings_->self.replica, settings_->self.process.pid});
    trace_place_ = options.sink->place();
  } else {
    config_.tracer.stop();
    trace_place_.clear();
  }
}

std::string Engine::Body::answer_trace(const std::string& line) {
  const ReplicaIdentity& self = settings_->self;
  const auto question = read_trace_question(line);
  if (!question || (!question->incarnation.empty() && question->incarnation != self.incarnation)) {
    return {};
  }
  const std::lock_guard lock{trace_mutex_};
  TraceAnswer answer{self.replica, self.process.pid, self.incarnation, trace_place_};
  switch (question->wish) {
    case TraceWish::look: break;
    case TraceWish::start: answer.refusal = start_trace(*question, answer.place); break;
    case TraceWish::stop: switch_trace({}); break;
  }
  return line_of(answer);
}

/// With trace_mutex_ held. Why not; empty: `place` is where it goes.
std::string Engine::Body::start_trace(const TraceQuestion& question, std::string& place) {
  if (!place.empty()) {
    return "it already writes a trace to " + place + "; end that first: stagecall trace stop";
  }
  const auto options = options_of(question);
  if (!options) {
    return options.error().message;
  }
  switch_trace(*options);
  place = trace_place_;
  return {};
}

}  // namespace stagecall
