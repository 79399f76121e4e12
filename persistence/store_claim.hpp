// What an engine holds of its store for as long as it lives: its word on who keeps the leases, and
// its name. Kept as locks on files beside the store, which the system frees however it ends.
#pragma once

#include "persistence/redis_url.hpp"
#include "platform/unique_fd.hpp"
#include "stagecall/error.hpp"

#include <string>
#include <vector>

namespace stagecall {

/// The lease authority of a store whose leases stand in the file beside it.
inline constexpr const char* kLeaseFileAuthority = "sqlite";

/// What a store records of who keeps its leases: the servers, in any order, and where there; or the
/// file beside it if there are none. Without passwords.
std::string lease_authority_of(const std::vector<RedisServer>& servers,
                               const std::string& store_id);

struct ClaimOptions {
  std::string store_path;  ///< of a store that is open in this process
  std::string authority;   ///< as lease_authority_of says
  std::string replica{};   ///< not empty: no other engine may have this name meanwhile
};

/// Ends with its destruction. A child process that does not execute a program shares it.
struct StoreClaim {
  UniqueFd authority{};
  UniqueFd name{};
};

/// While one engine has a claim the others must name the same authority. Who comes when nobody has
/// one may name another: then the store records that from now on. Errors: lease_authority (both are
/// named), invalid_argument (the name is taken, by whom), store_unavailable.
Result<StoreClaim> claim_store(const ClaimOptions& options);

}  // namespace stagecall
