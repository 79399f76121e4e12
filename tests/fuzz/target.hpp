// What a fuzz target is: one function that reads any bytes and judges what came of them. A broken
// promise ends the process, which libFuzzer and the replay of seeds take for a finding.
#pragma once

#include "stagecall/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// The entry that libFuzzer calls; each target defines it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace stagecall::fuzzing {

/// Ends the process, and says which promise was broken, unless it holds.
void require(bool holds, std::string_view promise);

/// An invalid_pipeline: 1 to 20 problems, each with a place and a text, all fit to be JSON.
void judge_refusal(const Error& error);

/// A pipeline file or recorded workflow of any bytes: what is accepted comes back from its
/// canonical text as it was, what is refused is refused as judge_refusal says.
void judge_reading(std::string_view bytes);

}  // namespace stagecall::fuzzing
