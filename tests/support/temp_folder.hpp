// A folder of one test's own, gone with it.
#pragma once

#include "platform/random.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace stagecall::test {

class TempFolder {
 public:
  TempFolder() : path_(std::filesystem::temp_directory_path() / ("stagecall-test-" + random_id())) {
    std::filesystem::create_directory(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace stagecall::test
