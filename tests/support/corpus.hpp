// Where the shared test corpus is, and what it holds. Environment STAGECALL_SHARED names the folder
// above it; without it, `../shared` beside the source folder. Absent: says so on stdout.
#pragma once

#include "platform/random.hpp"
#include "tests/support/paths.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stagecall::testing {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) {
    throw std::runtime_error{"cannot read " + path.string()};
  }
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The corpus folder; nothing, and a loud word, where there is none.
inline std::optional<std::filesystem::path> corpus_folder() {
  const char* shared = std::getenv("STAGECALL_SHARED");
  const std::filesystem::path folder =
      std::filesystem::path{shared != nullptr ? shared : source_folder() + "/../shared"} / "corpus";
  if (std::filesystem::exists(folder / "make_corpus.py")) {
    return folder;
  }
  std::cout << "SKIPPED: no corpus at " << folder << "; set STAGECALL_SHARED\n";
  return std::nullopt;
}

/// What MANIFEST.json says of one file of inputs/.
struct CorpusInput {
  std::filesystem::path path;
  bool is_accepted = false;
  std::vector<std::string> names;   ///< texts that the error must carry
  std::vector<std::string> silent;  ///< texts that it must not
};

/// inputs/ and graphs/, written anew by make_corpus.py into a folder of its own that goes with
/// this.
class MadeCorpus {
 public:
  explicit MadeCorpus(const std::filesystem::path& corpus) {
    folder_ = std::filesystem::temp_directory_path() / ("stagecall-corpus-" + random_id());
    const std::string command = "python3 '" + (corpus / "make_corpus.py").string() + "' '" +
                                folder_.string() + "' > /dev/null";
    if (std::system(command.c_str()) != 0) {
      throw std::runtime_error{"failed: " + command};
    }
  }
  ~MadeCorpus() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  MadeCorpus(const MadeCorpus&) = delete;
  MadeCorpus& operator=(const MadeCorpus&) = delete;

  std::filesystem::path folder(const std::string& name) const { return folder_ / name; }
  std::filesystem::path graph(const std::string& name) const {
    return folder_ / "graphs" / (name + ".json");
  }

  std::vector<CorpusInput> inputs() const {
    std::vector<CorpusInput> inputs;
    const auto manifest = nlohmann::json::parse(read_file(folder_ / "inputs" / "MANIFEST.json"));
    for (const auto& entry : manifest) {
      inputs.push_back({.path = folder_ / "inputs" / entry.at("file").get<std::string>(),
                        .is_accepted = entry.at("expect") == "accept",
                        .names = entry.at("names").get<std::vector<std::string>>(),
                        .silent = entry.at("silent").get<std::vector<std::string>>()});
    }
    return inputs;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace stagecall::testing
