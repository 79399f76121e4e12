#include "actors/engine_stores.hpp"

#include "persistence/memory_lease_store.hpp"
#include "persistence/memory_store.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/store_paths.hpp"

#include <string_view>
#include <utility>

namespace stagecall {
namespace {

/// As EngineOptions::store.
constexpr std::string_view kInMemory = ":memory:";

Result<EngineStores> open_files(const EngineOptions& options, const ReplicaIdentity& self,
                                const Clock& clock) {
  const auto connect = [&options] {
    return open_sqlite_store({.path = options.store, .durability = options.durability});
  };
  auto writer = connect();
  auto reader = writer ? connect() : Result<std::unique_ptr<Store>>{tl::unexpect, writer.error()};
  if (!reader) {
    return tl::unexpected<Error>{std::move(reader).error()};
  }
  auto leases = open_sqlite_lease_store(lease_path(options.store), self, clock);
  if (!leases) {
    return tl::unexpected<Error>{std::move(leases).error()};
  }
  return EngineStores{.folder = store_folder(options.store),
                      .writer = *std::move(writer),
                      .reader = std::make_shared<SharedStore>(*std::move(reader)),
                      .leases = *std::move(leases)};
}

Result<EngineStores> open_memory(const ReplicaIdentity& self, const Clock& clock) {
  auto scratch = ScratchFolder::make();
  if (!scratch) {
    return tl::unexpected<Error>{std::move(scratch).error()};
  }
  const auto content = make_memory_store_content();
  const std::string folder = scratch->path();
  return EngineStores{.scratch = *std::move(scratch),
                      .folder = folder,
                      .writer = open_memory_store(content),
                      .reader = std::make_shared<SharedStore>(open_memory_store(content)),
                      .leases = open_memory_lease_store(make_memory_leases(), self, clock)};
}

}  // namespace

Result<EngineStores> open_engine_stores(const EngineOptions& options, const ReplicaIdentity& self,
                                        const Clock& clock) {
  return options.store == kInMemory ? open_memory(self, clock) : open_files(options, self, clock);
}

}  // namespace stagecall
