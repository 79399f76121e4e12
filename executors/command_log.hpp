// How a command's log lies in its file: `output_head_bytes` from its start, then a ring of
// `output_tail_bytes`, then, once the ring has wrapped, the number of all bytes (8 bytes).
#pragma once

#include "messages/limits.hpp"

#include <cstdint>
#include <string>

namespace stagecall {

inline constexpr std::uint64_t kLogHeadBytes = kLimits.output_head_bytes;
inline constexpr std::uint64_t kLogTailBytes = kLimits.output_tail_bytes;
inline constexpr std::uint64_t kLogRingEnd = kLogHeadBytes + kLogTailBytes;

/// The most that the launcher writes before it updates the number of all bytes.
inline constexpr std::uint64_t kLogChunkBytes = std::uint64_t{64} << 10;

}  // namespace stagecall
