// The floor below which no store on the same file could go.
#pragma once

#include "bench/measure.hpp"
#include "stagecall/error.hpp"

#include <cstdint>
#include <string>

namespace stagecall::bench {

/// A loop that writes the passes which an engine has recorded in that folder, the same rows in as
/// many commits, to a new store: what is left when the engine costs nothing. The engine has ended.
Result<Measurement> measure_floor(const Measurement& engine, std::uint64_t runs,
                                  const std::string& folder);

}  // namespace stagecall::bench
