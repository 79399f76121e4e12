// A folder for what must not outlive its owner, under TMPDIR or /tmp.
#pragma once

#include "stagecall/error.hpp"

#include <string>

namespace stagecall {

/// Removed with all that is in it. Mode 0700.
class ScratchFolder {
 public:
  /// store_unavailable names the path and the cause.
  static Result<ScratchFolder> make();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: moved from
};

}  // namespace stagecall
