// The run log: what the commands of a run wrote of themselves, one line at each start and end. From
// it and from history follow what the engine promised, whatever it says of itself.
#pragma once

#include "tests/support/corpus.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace stagecall::testing {

using Dependencies = std::map<std::string, std::vector<std::string>>;

struct LogLine {
  std::string word;  ///< "start", "end", or what else a command says
  std::string key;

  /// The key is PIPELINE/ITERATION/NODE/ATTEMPT@NONCE.
  std::string node() const {
    const auto end = key.rfind('/');
    const auto begin = key.rfind('/', end - 1) + 1;
    return key.substr(begin, end - begin);
  }
  std::string attempt() const {
    const auto begin = key.rfind('/') + 1;
    return key.substr(begin, key.find('@', begin) - begin);
  }
};

/// A command that writes its start and its end, and does `body` in between.
inline nlohmann::json logged_command(const std::string& log, const std::string& body) {
  const auto say = [](const std::string& word) {
    return "echo \"" + word + " $STAGECALL_KEY $$\" >> \"$0\"";
  };
  return {"sh", "-c", say("start") + "; " + body + "; " + say("end"), log};
}

/// Its whole lines so far; none before it is there.
inline std::vector<LogLine> read_log(const std::string& path) {
  std::vector<LogLine> lines;
  if (!std::filesystem::exists(path)) {
    return lines;
  }
  std::istringstream text{testing::read_file(path)};
  std::string line;
  while (std::getline(text, line) && !text.eof()) {
    LogLine read;
    std::istringstream{line} >> read.word >> read.key;
    lines.push_back(read);
  }
  return lines;
}

/// What breaks ONCE (a key starts once) or ORDER (a node starts after all it waits for ended well).
inline std::vector<std::string> faults_of(const std::vector<LogLine>& log,
                                          const Dependencies& dependencies) {
  std::vector<std::string> faults;
  std::set<std::string> started;
  std::set<std::string> ended;
  for (const LogLine& line : log) {
    if (line.word == "end") {
      ended.insert(line.node());
    }
    if (line.word != "start") {
      continue;
    }
    if (!started.insert(line.key).second) {
      faults.push_back("started twice: " + line.key);
    }
    for (const std::string& dependency : dependencies.at(line.node())) {
      if (!ended.contains(dependency)) {
        faults.push_back(line.key + " started before the end of " + dependency);
      }
    }
  }
  return faults;
}

/// The same, and that no node goes on after it has succeeded, from lines of `history --json`. A
/// join leaves no line: it counts as ended.
inline std::vector<std::string> faults_of_history(const std::vector<nlohmann::json>& history,
                                                  const Dependencies& dependencies) {
  std::vector<std::string> faults;
  std::set<std::string> has_attempts;
  for (const auto& line : history) {
    if (line.at("kind") == "attempt_submitted") {
      has_attempts.insert(line.at("node"));
    }
  }
  std::set<std::string> submitted;
  std::set<std::string> succeeded;
  for (const auto& line : history) {
    if (line.at("kind") == "attempt_ended" && line.at("outcome") == "succeeded") {
      if (!succeeded.insert(line.at("node")).second) {
        faults.push_back("succeeded twice: " + line.dump());
      }
    }
    if (line.at("kind") != "attempt_submitted") {
      continue;
    }
    const std::string node = line.at("node");
    if (succeeded.contains(node)) {
      faults.push_back("submitted after its success: " + line.dump());
    }
    if (!submitted.insert(node + "/" + line.at("attempt").dump()).second) {
      faults.push_back("submitted twice: " + line.dump());
    }
    for (const std::string& dependency : dependencies.at(node)) {
      if (has_attempts.contains(dependency) && !succeeded.contains(dependency)) {
        faults.push_back("submitted before " + dependency + " succeeded: " + line.dump());
      }
    }
  }
  return faults;
}

}  // namespace stagecall::testing
