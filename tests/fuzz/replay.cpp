// Takes the place of libFuzzer where there is none: puts each file of the named folders through the
// target, small ones also with a byte changed, cut off or doubled. A folder `corpus:NAME` is one of
// the corpus outside the repository. Ends badly if a promise is broken, or a folder is empty.
#include "tests/fuzz/target.hpp"
#include "tests/support/corpus.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecall::fuzzing {
namespace {

/// Larger ones are replayed as they are: a variant costs as much as the file.
constexpr std::size_t kVariedBytesMax = 4'096;

std::size_t replay(const std::string& bytes) {
  // Exactly so many bytes on the heap: a read beyond them is one that AddressSanitizer sees.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  return 1;
}

std::size_t replay_varied(const std::string& bytes) {
  std::size_t count = replay(bytes);
  if (bytes.size() > kVariedBytesMax) {
    return count;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    count += replay(changed) + replay(bytes.substr(0, at)) +
             replay(bytes.substr(0, at) + bytes[at] + bytes.substr(at));
  }
  return count;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// How many texts came of a folder; 0 if it is empty.
std::size_t replay_folder(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& file : files_of(folder)) {
    std::fprintf(stderr, "replaying %s\n", file.c_str());
    count += replay_varied(testing::read_file(file));
  }
  std::printf("%s: %zu texts\n", folder.c_str(), count);
  return count;
}

bool replay_corpus(const std::string& name) {
  const auto corpus = testing::corpus_folder();
  if (!corpus) {
    return true;
  }
  if (std::filesystem::exists(*corpus / name)) {
    return replay_folder(*corpus / name) > 0;
  }
  const testing::MadeCorpus made{*corpus};
  return replay_folder(made.folder(name)) > 0;
}

}  // namespace
}  // namespace stagecall::fuzzing

int main(int count, char** arguments) {
  using namespace stagecall::fuzzing;
  constexpr std::string_view kCorpus = "corpus:";
  bool is_complete = count > 1;
  for (int i = 1; i < count; ++i) {
    const std::string folder = arguments[i];
    is_complete &= folder.starts_with(kCorpus) ? replay_corpus(folder.substr(kCorpus.size()))
                                               : replay_folder(folder) > 0;
  }
  return is_complete ? 0 : 1;
}
