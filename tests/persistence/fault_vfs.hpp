// A file layer for SQLite that fails where a test says, after the real thing or instead of it.
#pragma once

#include <cstdint>
#include <string>

namespace stagecall::testing {

/// Which call fails, on the write-ahead log only.
enum class FaultAt : std::uint8_t {
  none,
  sync,        ///< reports an error, as when the disk did not say that it took the bytes
  write,       ///< writes nothing and reports an I/O error
  write_full,  ///< writes nothing and reports a full disk
};

/// Registers the layer once and gives its name, for SqliteStoreOptions::vfs.
std::string fault_vfs();

/// From now on, after `skip` calls of that kind, `count` calls fail. Process-wide.
void set_fault(FaultAt at, int skip = 0, int count = 1);

/// How many calls have failed since set_fault.
int faults_hit();

}  // namespace stagecall::testing
