#include "cli/engine_options.hpp"

#include <utility>

namespace stagecall::cli {

Result<EngineOptions> engine_options(const Options& options, bool adopts) {
  EngineOptions engine{.store = options.store,
                       .replica = options.replica,
                       .durability = options.durability,
                       .tick = options.tick,
                       .leases = options.leases,
                       .lease_ttl = options.lease_ttl,
                       .slots = options.slots,
                       .adopts = adopts};
  if (!options.trace.empty()) {
    auto sink = open_chrome_trace(options.trace);
    if (!sink) {
      return tl::unexpected<Error>{std::move(sink).error()};
    }
    engine.trace.sink = *std::move(sink);
  }
  return engine;
}

}  // namespace stagecall::cli
