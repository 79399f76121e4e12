// Who holds a run, and what only the holder knows of it, asked from outside.
#pragma once

#include "actors/holder.hpp"
#include "cli/session.hpp"

namespace stagecall::cli {

/// What the run's holder says; none: it has none, or it does not answer at once.
std::optional<HeldView> ask_holder(const Session& session, const RunRow& row);

/// What the run's own state does not tell, as far as it can be known from here.
ExplainContext explain_context(const Session& session, const Store& store, const RunRow& row,
                               const Definition& definition);

}  // namespace stagecall::cli
