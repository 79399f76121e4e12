// Asks whoever holds a run what only the holder knows, by its process's control socket, and adds
// that to what the store says. Waits only so long: a holder may stand still.
#pragma once

#include "core/explain.hpp"
#include "messages/held_view.hpp"
#include "persistence/store.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <optional>
#include <string>

namespace stagecall {

/// The line that asks a control socket for a run.
std::string holder_question(const RunId& run);
/// The run that a line asks for; none: it asks for something else.
std::optional<RunId> asked_run(const std::string& line);

/// None: nobody holds it, or does not answer within Limits::holder_wait. Blocks so long at most.
std::optional<HeldView> ask_holder(const std::string& store_folder, const RunRow& row,
                                   const Clock& clock);

/// Progress, and whether it is parked, of a run that has not ended.
void add_held(const HeldView& view, RunStatus& status);
/// Holder, trust and slots; its `now` must be there.
void add_held(const HeldView& view, ExplainContext& context);

}  // namespace stagecall
