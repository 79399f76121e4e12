#include "cli/engine_options.hpp"

namespace stagecall::cli {

EngineOptions engine_options(const Options& options, bool adopts) {
  return {.store = options.store,
          .replica = options.replica,
          .durability = options.durability,
          .tick = options.tick,
          .lease_ttl = options.lease_ttl,
          .slots = options.slots,
          .adopts = adopts};
}

}  // namespace stagecall::cli
