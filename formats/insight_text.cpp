#include "formats/insight_text.hpp"

#include <nlohmann/json.hpp>

namespace stagecall {
namespace {

using Json = nlohmann::ordered_json;

void add_run(Json& value, const ActorInsight::Run& run, bool is_busy) {
  value["run"] = run.run.text();
  if (is_busy) {
    return;
  }
  value["state"] = name_of(run.state);
  value["term"] = run.term.value;
  value["attempts"] = run.attempts;
  value["next_tick_ms"] = run.next_tick.count();
  value["lease_left_ms"] = run.lease_left.count();
  value["parked"] = run.is_parked;
}

Json actor_json(const ActorInsight& actor) {
  Json value{{"kind", actor.kind}, {"busy", actor.is_busy}};
  if (actor.run) {
    add_run(value, *actor.run, actor.is_busy);
  }
  if (!actor.is_busy) {
    value["mailbox"] = actor.waiting;
    value["handled"] = actor.handled;
    value["last_message"] = actor.last_message;
    value["counters"] = actor.counters;
  }
  return value;
}

}  // namespace

std::string insight_text(const EngineInsight& engine) {
  Json value{{"replica", engine.replica},
             {"pid", engine.pid},
             {"runs", engine.runs},
             {"trace", engine.trace.empty() ? Json{} : Json(engine.trace)},
             {"actors", Json::array()}};
  for (const ActorInsight& actor : engine.actors) {
    value["actors"].push_back(actor_json(actor));
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stagecall
