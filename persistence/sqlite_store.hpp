// The store on one SQLite file: WAL, one writer at a time, several processes.
#pragma once

#include "persistence/store.hpp"
#include "stagecall/error.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace stagecall {

enum class Durability : std::uint8_t {
  full,    ///< each commit reaches the disk (synchronous=FULL)
  normal,  ///< a power loss may take the last commits, never consistency
};

struct SqliteStoreOptions {
  std::string path;
  Durability durability = Durability::full;
  bool create = true;                      ///< false: a missing file is not_found
  std::string lease_authority = "sqlite";  ///< recorded at creation; another one is refused
};

/// Opens or creates, migrates if older, refuses what is damaged, newer, zero-length or not a store.
/// Errors carry path and cause and leave the file as it was.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteStoreOptions& options);

}  // namespace stagecall
