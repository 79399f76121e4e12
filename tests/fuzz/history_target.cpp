// The bytes are a row of the store: the events of passes, or a message of an inbox. What can be
// decoded is folded, an event a pass, onto one small pipeline, and the run is decided upon.
#include "core/decide.hpp"
#include "core/explain.hpp"
#include "core/invariants.hpp"
#include "persistence/codec.hpp"
#include "tests/fuzz/target.hpp"

#include <array>
#include <memory>
#include <utility>

namespace stagecall::fuzzing {
namespace {

using DefinitionPointer = std::shared_ptr<const Definition>;

/// One node of each kind, and one of each trigger.
DefinitionPointer small_pipeline() {
  const RetryPolicy retry{.attempts_max = 3, .lost_max = 1, .jitter = 0.5};
  auto built = Definition::build(
      {.name = "small",
       .timeout = Duration{600'000},
       .nodes = {
           {.id = "a", .action = TaskAction{"t"}, .timeout = Duration{5'000}, .retry = retry},
           {.id = "b", .after = {"a"}, .action = CommandAction{.argv = {"true"}}, .retry = retry},
           {.id = "c", .after = {"a"}, .action = ExternalAction{}, .timeout = Duration{60'000}},
           {.id = "d", .after = {"b", "c"}, .trigger = Trigger::all_finished},
           {.id = "e", .after = {"b"}, .action = TaskAction{"t"}, .trigger = Trigger::any_failed},
           {.id = "f", .after = {"d"}, .action = TaskAction{"t"}, .slots = 2}}});
  require(built.has_value(), "the small pipeline is one");
  return *built;
}

void judge_state(const PipelineState& state, std::string_view when) {
  for (const std::string& broken : broken_invariants(state)) {
    require(false, std::string{when} + ": " + broken);
  }
}

/// A pass on whatever the history has led to is legal too. Only a holder decides, in its term.
void judge_decision(PipelineState& state, Seq seq, WallTime now) {
  if (state.holders().empty() || is_terminal(state.run().state)) {
    return;
  }
  const std::array<Input, 1> inputs{TickInput{}};
  const Decision decision = decide(state, inputs, {.now = now, .slots = {.granted = 4}});
  const auto objection = state.try_apply({seq, Term{1}, now, decision.events});
  require(!objection, "what is decided is legal: " + objection.value_or(""));
  judge_state(state, "after a decision");
}

void judge_fold(const std::vector<Event>& events) {
  static const DefinitionPointer kDefinition = small_pipeline();
  PipelineState state{kDefinition};
  Seq seq;
  WallTime now{Duration{1'765'000'000'000}};
  for (const Event& event : events) {
    const Pass pass{Seq{seq.value + 1}, Term{1}, now, {event}};
    if (state.try_apply(pass)) {
      continue;
    }
    seq = pass.seq;
    now += Duration{1'000};
    judge_state(state, "after an accepted event");
  }
  for (const NodeExplanation& explanation : explain(state, {.now = now})) {
    require(!explanation.text.empty(), "an explanation has a text");
  }
  require(running_nodes(state, now).size() <= state.size(), "running nodes are nodes of the run");
  judge_decision(state, Seq{seq.value + 1}, now);
}

template <class Decoded>
void judge_refused_row(const Decoded& decoded) {
  require(decoded.error().code == ErrorCode::store_damaged, "what is refused is store_damaged");
  require(decoded.error().message.starts_with("byte "), "a refusal says where");
}

void judge_row(std::string_view bytes) {
  if (const auto events = decode_events(bytes)) {
    require(encode_events(*events) == bytes, "decoded events are encoded to the same bytes");
    require(count_events(bytes.substr(0, kEventCountBytes)) == events->size(),
            "events are counted as they are decoded");
    judge_fold(*events);
  } else {
    judge_refused_row(events);
  }
  if (const auto message = decode_message(bytes)) {
    require(encode_message(*message) == bytes, "a decoded message is encoded to the same bytes");
  } else {
    judge_refused_row(message);
  }
}

}  // namespace
}  // namespace stagecall::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  stagecall::fuzzing::judge_row({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
