// How long a lease may be relied on: rules of time, pure.
#pragma once

#include "messages/leases.hpp"
#include "stagecall/time.hpp"

#include <cstdint>

namespace stagecall {

/// Trust counts from the start of the request: the answer says nothing of when it was granted.
constexpr BootTime trusted_until(BootTime request_start, Duration ttl) {
  return request_start + ttl - lease_drift(ttl);
}

/// A term is opened only with half of the ttl left; else the lease is given back.
constexpr bool may_open_term(BootTime now, BootTime until, Duration ttl) {
  return until - now >= ttl / 2;
}

/// At the latest so long after the last grant.
constexpr Duration renew_after(Duration ttl) {
  return ttl / 3;
}

/// When a lease that was granted at this moment is renewed: once in a third of the ttl, leases of
/// different spread at different moments of it. So it stays when all are renewed at once, as after
/// an outage.
constexpr BootTime renewal_of(BootTime granted, Duration ttl, std::uint64_t spread) {
  const auto period = static_cast<std::uint64_t>(renew_after(ttl).count());
  const auto since_boot = static_cast<std::uint64_t>(granted.time_since_epoch().count());
  const std::uint64_t passed = (since_boot % period + period - spread % period) % period;
  return granted + Duration{static_cast<std::int64_t>(period - passed)};
}

/// A holder whose store has been silent for a ttl lets its leases end: it could record nothing.
constexpr bool may_renew(BootTime now, BootTime store_asked_at, Duration ttl) {
  return now - store_asked_at < ttl;
}

}  // namespace stagecall
