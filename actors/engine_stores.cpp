#include "actors/engine_stores.hpp"

#include "actors/log.hpp"
#include "persistence/memory_lease_store.hpp"
#include "persistence/memory_store.hpp"
#include "persistence/redis_lease_store.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/store_paths.hpp"

#include <string_view>
#include <utility>

namespace stagecall {
namespace {

/// As EngineOptions::store.
constexpr std::string_view kInMemory = ":memory:";

using Servers = std::vector<RedisServer>;

Result<std::unique_ptr<LeaseStore>> open_leases(const EngineOptions& options,
                                                const Servers& servers, const std::string& store_id,
                                                const ReplicaIdentity& self, const Clock& clock) {
  if (servers.empty()) {
    return open_sqlite_lease_store(lease_path(options.store), self, clock);
  }
  return open_redis_lease_store({.servers = servers,
                                 .store_id = store_id,
                                 .self = self,
                                 .on_absence =
                                     [](const Error& error) {
                                       log().warn("leases_unavailable error=\"{}\"", error.message);
                                     }},
                                clock);
}

Result<EngineStores> open_files(const EngineOptions& options, const Servers& servers,
                                const ReplicaIdentity& self, const Clock& clock) {
  const auto connect = [&options] {
    return open_sqlite_store({.path = options.store, .durability = options.durability});
  };
  auto writer = connect();
  auto reader = writer ? connect() : Result<std::unique_ptr<Store>>{tl::unexpect, writer.error()};
  if (!reader) {
    return tl::unexpected<Error>{std::move(reader).error()};
  }
  const std::string store_id = (*writer)->store_id();
  auto leases = open_leases(options, servers, store_id, self, clock);
  if (!leases) {
    return tl::unexpected<Error>{std::move(leases).error()};
  }
  // Last: who cannot open what it names must not change what the store records.
  auto claim = claim_store({.store_path = options.store,
                            .authority = lease_authority_of(servers, store_id),
                            .replica = options.replica});
  if (!claim) {
    return tl::unexpected<Error>{std::move(claim).error()};
  }
  return EngineStores{.claim = *std::move(claim),
                      .folder = store_folder(options.store),
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
  const auto servers = redis_servers(options.leases, "lease server");
  if (!servers) {
    return tl::unexpected<Error>{servers.error()};
  }
  if (options.store != kInMemory) {
    return open_files(options, *servers, self, clock);
  }
  if (!servers->empty()) {
    return fail(ErrorCode::invalid_argument,
                "leases of a store in memory: no other engine shares it; name no lease server");
  }
  return open_memory(self, clock);
}

}  // namespace stagecall
