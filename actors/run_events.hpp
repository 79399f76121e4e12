// A recorded fact as a host sees it: names instead of indexes.
#pragma once

#include "core/definition.hpp"
#include "messages/events.hpp"
#include "stagecall/engine.hpp"

namespace stagecall {

RunEvent run_event(const RunId& run, const Pass& pass, const Event& event,
                   const Definition& definition);

}  // namespace stagecall
