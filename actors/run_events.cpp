#include "actors/run_events.hpp"

#include <variant>

namespace stagecall {

RunEvent run_event(const RunId& run, const Pass& pass, const Event& event,
                   const Definition& definition) {
  RunEvent told{
      .run = run, .seq = pass.seq, .at = pass.at, .term = pass.term, .kind = kind_of(event)};
  std::visit(
      [&](const auto& fact) {
        if constexpr (requires { fact.node; }) {
          told.node = definition.node(fact.node).id;
        }
        if constexpr (requires { fact.attempt; }) {
          told.attempt = fact.attempt;
        }
        if constexpr (requires { fact.outcome; }) {
          told.outcome = fact.outcome;
        }
        if constexpr (requires { fact.result; }) {
          told.result = fact.result;
        }
      },
      event);
  return told;
}

}  // namespace stagecall
