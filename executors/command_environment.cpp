#include "executors/command_environment.hpp"

#include "executors/attempt_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace stagecall {
namespace {

constexpr std::array<std::string_view, 8> kAllowed{"PATH",  "HOME", "USER", "LOGNAME",
                                                   "SHELL", "LANG", "TZ",   "TMPDIR"};

bool is_allowed(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::find(kAllowed, name) != kAllowed.end();
}

}  // namespace

Environment allowed_environment() {
  Environment allowed;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable{*each};
    const std::size_t equals = variable.find('=');
    if (equals != std::string_view::npos && is_allowed(variable.substr(0, equals))) {
      allowed.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    }
  }
  return allowed;
}

std::vector<std::string> command_environment(const Environment& allowed, const Launch& launch,
                                             const std::string& attempt_folder) {
  Environment environment = allowed;
  for (const auto& [name, value] : launch.node->env) {
    environment[name] = value;
  }
  const AttemptKey& key = launch.key;
  environment["STAGECALL_PIPELINE"] = key.run.pipeline;
  environment["STAGECALL_RUN"] = key.run.text();
  environment["STAGECALL_NODE"] = key.node;
  environment["STAGECALL_ATTEMPT"] = std::to_string(key.attempt.value);
  environment["STAGECALL_KEY"] = key.text();
  environment["STAGECALL_TERM"] = std::to_string(launch.term.value);
  environment["STAGECALL_OUTPUT"] = attempt_folder + "/output";
  if (launch.inputs) {
    environment["STAGECALL_INPUTS"] = inputs_path(attempt_folder);
  } else {
    environment.erase("STAGECALL_INPUTS");
  }
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    variables.push_back(name + "=" + value);
  }
  return variables;
}

}  // namespace stagecall
