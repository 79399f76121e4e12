// Writes a command's output to its log, of which head and tail are kept; see command_log.hpp.
#pragma once

#include "platform/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecall {

class LogWriter {
 public:
  /// The file is created by the first byte.
  explicit LogWriter(std::string path) : path_(std::move(path)) {}

  /// At most kLogChunkBytes. What cannot be written is lost: the command must not wait for it.
  void write(std::string_view bytes);

 private:
  void put(std::string_view bytes, std::uint64_t offset);

  std::string path_;
  UniqueFd file_;
  std::uint64_t total_ = 0;
};

}  // namespace stagecall
