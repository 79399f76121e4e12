// Who holds a run and who launched an attempt: the identities that leases, terms and custody name.
#pragma once

#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"

#include <compare>
#include <cstdint>
#include <string>

namespace stagecall {

/// One process on one boot of one host. Pids are reused; the start time tells them apart.
struct ProcessIdentity {
  std::string host;
  std::string boot_id;
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since boot, /proc/PID/stat field 22

  friend auto operator<=>(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// One engine process by name and by its random id, new at each start.
struct ReplicaIdentity {
  std::string replica;
  std::string incarnation;  ///< 32 hexadecimal digits
  ProcessIdentity process;

  friend auto operator<=>(const ReplicaIdentity&, const ReplicaIdentity&) = default;
};

/// What clocks of two machines may drift apart within a ttl: 1 % + 2 ms.
constexpr Duration lease_drift(Duration ttl) {
  return ttl / 100 + Duration{2};
}

/// From which number on a lease store draws if it remembers none: microseconds of the wall clock.
/// That is less than 2^53, and nobody draws a million times a second.
constexpr std::int64_t least_number(WallTime now) {
  return std::chrono::microseconds{now.time_since_epoch()}.count();
}

/// A run's lease as its holder may rely on it.
struct Trust {
  RunId run;
  BootTime until;  ///< from here on act as if the lease were lost

  friend bool operator==(const Trust&, const Trust&) = default;
};

}  // namespace stagecall
