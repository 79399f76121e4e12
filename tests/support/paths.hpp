// Where this build stands: the tests read files of the project and start its programs.
#pragma once

#include <string>

namespace stagecall::testing {

/// The project's root.
const std::string& source_folder();
/// Where its programs are built.
const std::string& binary_folder();

}  // namespace stagecall::testing
