// Where the files of a store stand beside it.
#pragma once

#include <string>

namespace stagecall {

/// `FILE.db-leases`: the leases of a store without a lease server.
inline std::string lease_path(const std::string& store_path) {
  return store_path + "-leases";
}

/// `FILE.db.d`: nudges, launchers, attempts.
inline std::string store_folder(const std::string& store_path) {
  return store_path + ".d";
}

}  // namespace stagecall
