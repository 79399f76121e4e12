#include "tests/support/paths.hpp"

namespace stagecall::testing {

const std::string& source_folder() {
  static const std::string folder = SOURCE_FOLDER;
  return folder;
}

const std::string& binary_folder() {
  static const std::string folder = BINARY_FOLDER;
  return folder;
}

}  // namespace stagecall::testing
