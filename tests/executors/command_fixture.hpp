// A process executor on a folder of its own, and commands for it.
#pragma once

#include "executors/process_executor.hpp"
#include "platform/system_clock.hpp"
#include "tests/executors/executor_contract.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/process_table.hpp"
#include "tests/support/temp_folder.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::testing {

inline NodeSpec command(std::vector<std::string> argv) {
  return {.id = "node", .action = CommandAction{std::move(argv)}};
}

inline NodeSpec shell(std::string script) {
  return command({"sh", "-c", std::move(script)});
}

inline Outcome exited(std::int32_t code) {
  return code == 0 ? Outcome{.exit_code = 0}
                   : Outcome{.kind = OutcomeKind::failed,
                             .exit_code = code,
                             .error = "exit " + std::to_string(code)};
}

struct CommandFixture {
  TempFolder scratch;
  std::string folder = scratch / "store.d";
  SystemClock clock;
  ReportLog log;
  std::unique_ptr<Executor> executor;

  CommandFixture() { open("ours"); }

  void open(const std::string& incarnation) {
    executor = make_process_executor({folder, incarnation}, clock);
    REQUIRE(executor->open(log));
  }

  AttemptKey start(NodeSpec node) {
    const Launch launch = launch_of(std::move(node));
    executor->submit({launch});
    return launch.key;
  }

  SaysEnded end_of(const AttemptKey& key) {
    const auto end = log.wait_for<SaysEnded>(key);
    REQUIRE(end);
    return *end;
  }

  SaysEnded run(NodeSpec node) { return end_of(start(std::move(node))); }

  CommandLog log_of(const AttemptKey& key) const {
    auto read = read_command_log(folder, key);
    REQUIRE(read);
    return *std::move(read);
  }

  /// What a command wrote that succeeds.
  std::string output_of(NodeSpec node) {
    const AttemptKey key = start(std::move(node));
    REQUIRE(end_of(key).outcome == exited(0));
    return log_of(key).head;
  }

  static pid_t launcher() {
    for (const ProcessEntry& child : children_of(::getpid())) {
      if (child.name == "stagecall-launc") {
        return child.pid;
      }
    }
    return -1;
  }

  /// The soft limit of the launcher, which it looks at before each launch.
  static void limit_descriptors(rlim_t files) {
    REQUIRE(eventually([] { return launcher() > 0; }));  // it has its name once it is executed
    rlimit limit{};
    REQUIRE(::prlimit(launcher(), RLIMIT_NOFILE, nullptr, &limit) == 0);
    limit.rlim_cur = files;
    REQUIRE(::prlimit(launcher(), RLIMIT_NOFILE, &limit, nullptr) == 0);
  }
};

}  // namespace stagecall::testing
