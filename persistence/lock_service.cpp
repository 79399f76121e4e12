#include "persistence/lock_service.hpp"

#include "messages/limits.hpp"
#include "persistence/memory_lease_store.hpp"
#include "persistence/redis_lease_store.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "platform/process.hpp"
#include "platform/random.hpp"

#include <string>

namespace stagecall {
namespace {

ReplicaIdentity holder() {
  return {.replica = "lock", .incarnation = random_id(), .process = this_process()};
}

/// A service that has answered once.
Result<LockService> checked(LockService::Shared::Connect connect) {
  auto shared = std::make_shared<LockService::Shared>(std::move(connect));
  const auto answered = shared->ask([](LeaseStore& store) { return store.holders({}); });
  if (!answered) {
    return tl::unexpected<Error>{answered.error()};
  }
  return LockService{std::move(shared)};
}

}  // namespace

const Clock& lock_clock() {
  static const SystemClock clock;
  return clock;
}

Result<LockService> LockService::redis(const std::vector<std::string>& urls,
                                       const std::string& space) {
  auto servers = redis_servers(urls, "lock server");
  if (!servers) {
    return tl::unexpected<Error>{std::move(servers).error()};
  }
  const RedisLeaseOptions options{
      .servers = *std::move(servers), .store_id = space, .self = holder()};
  return checked([options] { return open_redis_lease_store(options, lock_clock()); });
}

Result<LockService> LockService::file(const std::string& path) {
  return checked(
      [path, self = holder()] { return open_sqlite_lease_store(path, self, lock_clock()); });
}

LockService LockService::memory() {
  return LockService{std::make_shared<Shared>(
      [leases = make_memory_leases(), self = holder()]() -> Result<std::unique_ptr<LeaseStore>> {
        return open_memory_lease_store(leases, self, lock_clock());
      })};
}

Result<std::unique_ptr<LeaseStore>> LockService::Shared::take() {
  {
    const std::lock_guard lock{mutex_};
    if (!idle_.empty()) {
      auto store = std::move(idle_.back());
      idle_.pop_back();
      return store;
    }
  }
  return connect_();
}

void LockService::Shared::give_back(std::unique_ptr<LeaseStore> store) {
  const std::lock_guard lock{mutex_};
  if (idle_.size() < kLimits.lock_connections_max) {
    idle_.push_back(std::move(store));
  }
}

}  // namespace stagecall
