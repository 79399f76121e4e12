// Leases in a SQLite file of their own beside the store: the embedded default without a server.
// They die with the boot, so nothing is synced. A holder on this host whose process is gone is
// replaced at once.
#pragma once

#include "persistence/lease_store.hpp"
#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <memory>
#include <string>

namespace stagecall {

/// `path` is created as needed; one that is damaged or empty is made anew, which is as if all
/// leases had been lost: the fence in the store covers that. A file that is not a lease store is
/// refused. The clock must outlive the lease store.
Result<std::unique_ptr<LeaseStore>> open_sqlite_lease_store(const std::string& path,
                                                            const ReplicaIdentity& holder,
                                                            const Clock& clock);

}  // namespace stagecall
