// The store on one SQLite file: WAL, one writer at a time, several processes.
#pragma once

#include "messages/limits.hpp"
#include "persistence/store.hpp"
#include "stagecall/engine.hpp"
#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <memory>
#include <string>

namespace stagecall {

struct SqliteStoreOptions {
  std::string path;
  Durability durability = Durability::full;  ///< synchronous=FULL or NORMAL
  bool create = true;                        ///< false: a missing file is not_found
  Duration busy_timeout = kLimits.busy_timeout;
  std::string vfs{};  ///< SQLite's file layer by name, for fault injection; empty: the default
};

/// Opens or creates (folders too, the file with mode 0600), migrates if older, refuses what is
/// damaged, newer, zero-length or not a store. Errors carry path and cause and leave the file as it
/// was. A store that is only read from holds no lock between calls.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteStoreOptions& options);

}  // namespace stagecall
