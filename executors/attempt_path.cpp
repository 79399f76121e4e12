#include "executors/attempt_path.hpp"

#include <xxhash.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace stagecall {
namespace {

unsigned long long hash_of(std::string_view text) {
  return XXH64(text.data(), text.size(), 0);
}

}  // namespace

std::string attempt_folder(const std::string& folder, const AttemptKey& key) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/%016llx-%u-%016llx", hash_of(key.node),
                key.attempt.value, static_cast<unsigned long long>(key.nonce.value));
  return run_folder(folder, key.run) + name.data();
}

std::string run_folder(const std::string& folder, const RunId& run) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/attempts/%016llx", hash_of(run.text()));
  return folder + name.data();
}

}  // namespace stagecall
