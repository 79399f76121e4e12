// The stored form of passes and inbox messages: versioned bytes. Decoding never trusts its input.
#pragma once

#include "messages/events.hpp"
#include "messages/inputs.hpp"
#include "stagecall/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

/// The first byte is the format's version.
std::string encode_events(const std::vector<Event>& events);
/// store_damaged says what is wrong and at which byte.
Result<std::vector<Event>> decode_events(std::string_view bytes);

/// How many there are in `encoded`, of which the first bytes suffice; 0 if it is damaged.
std::uint64_t count_events(std::string_view encoded);
/// So many bytes suffice for count_events.
inline constexpr std::size_t kEventCountBytes = 11;

std::string encode_message(const InboxMessage& message);
Result<InboxMessage> decode_message(std::string_view bytes);

/// Checksum of a pass, chained to the one before it (0 for the first). Its events are taken from
/// `encoded`, not from `pass`.
std::uint64_t checksum_of(std::uint64_t previous, const Pass& pass, std::string_view encoded);

/// 32 hexadecimal digits of XXH3-128.
std::string content_hash(std::string_view bytes);

}  // namespace stagecall
