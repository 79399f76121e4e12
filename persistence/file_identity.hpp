// Which file a path means, without opening it: SQLite's locks on a file are lost when this process
// closes any other descriptor of it, so files of SQLite are never opened but through it.
#pragma once

#include "stagecall/error.hpp"

#include <cstdint>
#include <string>

namespace stagecall {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  bool is_same_file(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
};

/// not_found if there is nothing.
Result<FileIdentity> identify_file(const std::string& path);

/// Makes an empty file, mode 0600, that must not exist yet. SQLite gives its logs the same mode.
Result<void> create_private_file(const std::string& path);

}  // namespace stagecall
