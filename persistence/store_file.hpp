// The file of a store: creating it whole, refusing what is none, migrating it, opening connections.
#pragma once

#include "persistence/file_identity.hpp"
#include "persistence/sqlite_db.hpp"
#include "persistence/sqlite_store.hpp"
#include "stagecall/error.hpp"

#include <string>

namespace stagecall {

struct StoreFile {
  SqliteDb db;
  FileIdentity identity;
  std::string store_id;
  std::string lease_authority;
};

/// As open_sqlite_store says.
Result<StoreFile> open_store_file(const SqliteStoreOptions& options);

}  // namespace stagecall
