// What an engine keeps its runs and leases in: files, or memory that ends with it.
#pragma once

#include "actors/shared_store.hpp"
#include "persistence/lease_store.hpp"
#include "persistence/store_claim.hpp"
#include "platform/scratch_folder.hpp"
#include "stagecall/engine.hpp"

#include <memory>
#include <optional>
#include <string>

namespace stagecall {

struct EngineStores {
  StoreClaim claim{};                      ///< of a store in a file; given up last
  std::optional<ScratchFolder> scratch{};  ///< of a store in memory: what its commands leave
  std::string folder{};                    ///< of launchers, attempts and nudges
  std::unique_ptr<Store> writer{};
  std::shared_ptr<SharedStore> reader{};  ///< shared with abandoned tasks, which may still read
  std::unique_ptr<LeaseStore> leases{};
};

/// Errors are those of Engine::open. The clock outlives what is opened.
Result<EngineStores> open_engine_stores(const EngineOptions& options, const ReplicaIdentity& self,
                                        const Clock& clock);

}  // namespace stagecall
