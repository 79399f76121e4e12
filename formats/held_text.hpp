// What a process tells another of a run that it holds, as JSON.
#pragma once

#include "messages/held_view.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace stagecall {

/// {"run","term","replica","parked"?,"draining","lease_left_ms","slots_free","slots_contended",
/// "progress":[{"node","attempt","fraction"}]}; names that are not UTF-8 are mended.
std::string held_text(const HeldView& view);

/// The other way. The text may be anybody's: none if it is anything else, has a member missing or a
/// value out of its range. Members that it does not know are passed over.
std::optional<HeldView> read_held(std::string_view text);

}  // namespace stagecall
