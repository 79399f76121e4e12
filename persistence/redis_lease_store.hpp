// Leases in Redis: on one server, or on an odd number of independent ones by the rules of Redlock
// (a majority grants; validity = ttl − elapsed − drift; undone everywhere on failure). What a
// server forgets or grants twice costs time only: the fence in the store covers it.
#pragma once

#include "persistence/lease_store.hpp"
#include "persistence/redis_url.hpp"
#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stagecall {

struct RedisLeaseOptions {
  std::vector<RedisServer> servers;  ///< one, or an odd number that do not replicate each other
  std::string store_id;              ///< keys are `stagecall:{STORE_ID}:lease:RUN`, as bytes
  ReplicaIdentity self;              ///< what the leases say of their holder
  /// Told that fewer than a majority can be reached now: then it opens all the same, and reaches
  /// them once they are back. None: that is an error.
  std::function<void(const Error&)> on_absence{};
};

/// `stagecall:{STORE_ID}:`
std::string redis_key_prefix(const std::string& store_id);

/// Connects; `invalid_argument` for servers that are no quorum, `lease_unavailable` if fewer than a
/// majority answer, or one of them refuses us for good (a wrong password, a database that is not
/// there), each named with its reason. Later it reconnects by itself. The clock must go with real
/// time, and outlive the lease store.
///
/// Each lease has a ttl in the server. What a call that failed may have taken is released with the
/// next call that reaches the server, unless that asks for it with the same token. A release whose
/// connection broke may be told `lost` though it freed the lease.
Result<std::unique_ptr<LeaseStore>> open_redis_lease_store(const RedisLeaseOptions& options,
                                                           const Clock& clock);

}  // namespace stagecall
