// Where an attempt's folder is.
#pragma once

#include "stagecall/ids.hpp"

#include <string>

namespace stagecall {

/// `FOLDER/attempts/RUN/NODE-ATTEMPT-NONCE`, run and node as hashes of 16 hexadecimal digits; the
/// nonce tells apart what a hash does not.
std::string attempt_folder(const std::string& folder, const AttemptKey& key);

/// `FOLDER/attempts/RUN`, of all attempts of the run.
std::string run_folder(const std::string& folder, const RunId& run);

}  // namespace stagecall
