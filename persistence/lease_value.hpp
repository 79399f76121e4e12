// The text by which a lease in Redis says who holds it: `token=… v=1 replica=… incarnation=… host=…
// boot=… pid=… start=… since=…`, each value percent-encoded. People read it, holders() parses it.
#pragma once

#include "persistence/lease_store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace stagecall {

struct LeaseValue {
  LeaseToken token;
  ReplicaIdentity holder;
};

/// What the value of a lease held under this token begins with; no other token's begins so.
std::string lease_mark(const LeaseToken& token);
/// What follows the mark.
std::string lease_holder_text(const ReplicaIdentity& holder, WallTime since);

/// Unknown members are passed over. None: it names no token and no holder.
std::optional<LeaseValue> parse_lease_value(std::string_view text);

}  // namespace stagecall
