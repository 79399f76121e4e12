#include "platform/scratch_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stagecall {

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code unknown;
  const auto parent = std::filesystem::temp_directory_path(unknown);
  std::string path = (unknown ? "/tmp" : parent.string()) + "/stagecall-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(ErrorCode::store_unavailable,
                "make a folder " + path + ": " + std::strerror(errno));
  }
  return ScratchFolder{std::move(path)};
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace stagecall
