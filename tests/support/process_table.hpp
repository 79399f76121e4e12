// The processes of this machine, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace stagecall::testing {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  std::string name;
};

/// Empty if it cannot be read, as of a process that ends meanwhile.
inline std::string read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The numbers of all processes that live or wait to be reaped.
inline std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", ignored}) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      found.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return found;
}

/// Those whose environment holds the text. A zombie has none.
inline std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (environment.find(text) != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

inline std::vector<ProcessEntry> children_of(pid_t parent) {
  std::vector<ProcessEntry> found;
  for (const pid_t pid : all_processes()) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto name_start = stat.find('(');
    const auto name_end = stat.rfind(')');
    if (name_start == std::string::npos || name_end == std::string::npos) {
      continue;
    }
    ProcessEntry process;
    process.name = stat.substr(name_start + 1, name_end - name_start - 1);
    std::istringstream{stat} >> process.pid;
    std::istringstream{stat.substr(name_end + 1)} >> process.state >> process.parent;
    if (process.parent == parent) {
      found.push_back(process);
    }
  }
  return found;
}

/// Whether the process is there and no zombie.
inline bool is_running(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) != "Z";
}

/// Whether the process has a handler of its own for the signal.
inline bool catches(pid_t pid, int signal) {
  std::istringstream status{read_file("/proc/" + std::to_string(pid) + "/status")};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:")) {
      return ((std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) & 1U) != 0;
    }
  }
  return false;
}

inline std::size_t count_entries(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::directory_iterator entries{folder, ignored};
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace stagecall::testing
