#include "tests/persistence/fault_vfs.hpp"

#include <sqlite3.h>

#include <cstddef>
#include <new>

namespace stagecall::testing {
namespace {

struct Plan {
  FaultAt at = FaultAt::none;
  int skip = 0;
  int count = 0;
  int hit = 0;
};
Plan plan;

/// SQLite allocates it and sees its head; the real file follows at an aligned offset.
struct FaultFile {
  sqlite3_file base{};
  bool is_log = false;
};
constexpr std::size_t kRealAt =
    (sizeof(FaultFile) + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + kRealAt);
}

sqlite3_vfs* real_vfs() {
  static sqlite3_vfs* const found = sqlite3_vfs_find(nullptr);
  return found;
}

bool strikes(sqlite3_file* file, FaultAt at) {
  if (!reinterpret_cast<FaultFile*>(file)->is_log || plan.at != at || plan.skip-- > 0 ||
      plan.count <= 0) {
    return false;
  }
  --plan.count;
  ++plan.hit;
  return true;
}

int close(sqlite3_file* file) {
  return real(file)->pMethods->xClose(real(file));
}
int read(sqlite3_file* file, void* to, int amount, sqlite3_int64 at) {
  return real(file)->pMethods->xRead(real(file), to, amount, at);
}
int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 at) {
  if (strikes(file, FaultAt::write)) {
    return SQLITE_IOERR_WRITE;
  }
  if (strikes(file, FaultAt::write_full)) {
    return SQLITE_FULL;
  }
  return real(file)->pMethods->xWrite(real(file), from, amount, at);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  return real(file)->pMethods->xTruncate(real(file), size);
}
int sync(sqlite3_file* file, int flags) {
  return strikes(file, FaultAt::sync) ? SQLITE_IOERR_FSYNC
                                      : real(file)->pMethods->xSync(real(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xLock(real(file), level);
}
int unlock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xUnlock(real(file), level);
}
int check_reserved_lock(sqlite3_file* file, int* out) {
  return real(file)->pMethods->xCheckReservedLock(real(file), out);
}
int file_control(sqlite3_file* file, int op, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), op, argument);
}
int sector_size(sqlite3_file* file) {
  return real(file)->pMethods->xSectorSize(real(file));
}
int device_characteristics(sqlite3_file* file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}
void shm_barrier(sqlite3_file* file) {
  real(file)->pMethods->xShmBarrier(real(file));
}
int shm_unmap(sqlite3_file* file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}

const sqlite3_io_methods kMethods{.iVersion = 2,
                                  .xClose = close,
                                  .xRead = read,
                                  .xWrite = write,
                                  .xTruncate = truncate,
                                  .xSync = sync,
                                  .xFileSize = file_size,
                                  .xLock = lock,
                                  .xUnlock = unlock,
                                  .xCheckReservedLock = check_reserved_lock,
                                  .xFileControl = file_control,
                                  .xSectorSize = sector_size,
                                  .xDeviceCharacteristics = device_characteristics,
                                  .xShmMap = shm_map,
                                  .xShmLock = shm_lock,
                                  .xShmBarrier = shm_barrier,
                                  .xShmUnmap = shm_unmap,
                                  .xFetch = nullptr,
                                  .xUnfetch = nullptr};

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* own = new (file) FaultFile;
  own->is_log = (flags & SQLITE_OPEN_WAL) != 0;
  const int code = real_vfs()->xOpen(real_vfs(), name, real(file), flags, out_flags);
  own->base.pMethods = real(file)->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}

}  // namespace

std::string fault_vfs() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs copy = *real_vfs();
    copy.zName = "stagecall-fault";
    copy.pNext = nullptr;
    copy.szOsFile += static_cast<int>(kRealAt);
    copy.xOpen = open;
    return copy;
  }();
  sqlite3_vfs_register(&vfs, 0);
  return vfs.zName;
}

void set_fault(FaultAt at, int skip, int count) {
  plan = {at, skip, count, 0};
}

int faults_hit() {
  return plan.hit;
}

}  // namespace stagecall::testing
