// The lease seam: timed, exclusive rights to schedule a run. Unknown counts as not owned.
#pragma once

#include "messages/leases.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecall {

/// Random per acquisition: only who knows it may renew or release.
using LeaseToken = std::string;

struct LeaseRequest {
  RunId run;
  LeaseToken token;
};

enum class LeaseVerdict : std::uint8_t {
  granted,  ///< acquired or renewed for a ttl from the request's start; or released
  busy,     ///< acquire: somebody else holds it
  lost,     ///< renew, release: it is not ours (any more)
};

/// One instance belongs to one thread at a time. Calls are batches; each is bounded by a deadline
/// of ttl/10. An error concerns the whole batch: count everything in it as not owned.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  /// Verdicts in the order of the requests. Acquiring again with the token that holds is granted.
  virtual Result<std::vector<LeaseVerdict>> acquire(const std::vector<LeaseRequest>& requests,
                                                    Duration ttl) = 0;
  virtual Result<std::vector<LeaseVerdict>> renew(const std::vector<LeaseRequest>& requests,
                                                  Duration ttl) = 0;
  virtual Result<std::vector<LeaseVerdict>> release(const std::vector<LeaseRequest>& requests) = 0;
  /// Who holds these runs now; an empty incarnation = nobody.
  virtual Result<std::vector<ReplicaIdentity>> holders(const std::vector<RunId>& runs) = 0;
  /// Larger than every number that had been drawn when this was asked for: who draws while holding
  /// a lease has a larger one than all who held it before. A store that has forgotten the last one
  /// goes on from the wall clock's microseconds.
  virtual Result<std::uint64_t> draw_number() = 0;
};

}  // namespace stagecall
