// How long a lease may be relied on: rules of time, pure.
#pragma once

#include "messages/leases.hpp"
#include "stagecall/time.hpp"

namespace stagecall {

/// Trust counts from the start of the request: the answer says nothing of when it was granted.
constexpr BootTime trusted_until(BootTime request_start, Duration ttl) {
  return request_start + ttl - lease_drift(ttl);
}

/// A term is opened only with half of the ttl left; else the lease is given back.
constexpr bool may_open_term(BootTime now, BootTime until, Duration ttl) {
  return until - now >= ttl / 2;
}

/// Renewals come this long after the last grant.
constexpr Duration renew_after(Duration ttl) {
  return ttl / 3;
}

/// A holder whose store has been silent for a ttl lets its leases end: it could record nothing.
constexpr bool may_renew(BootTime now, BootTime store_asked_at, Duration ttl) {
  return now - store_asked_at < ttl;
}

}  // namespace stagecall
