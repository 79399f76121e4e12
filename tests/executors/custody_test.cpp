// Who can tell what became of a command: after its engine's death, its launcher's, and its own.
#include "platform/unique_fd.hpp"
#include "tests/executors/command_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

struct FixedClock final : Clock {
  WallTime wall() const override { return WallTime{0ms}; }
  BootTime boot() const override { return BootTime{0ms}; }
};

struct Victims {
  Launch succeeds = launch_of(command({"true"}));
  Launch fails = launch_of(shell("echo x; exit 3"));
  Launch runs;
  Launch stubborn;
  Launch never = launch_of(command({"true"}));
};

/// The life of an engine that is killed: runs the commands, says when they stand, waits for death.
[[noreturn]] void be_engine(const std::string& folder, const Victims& victims, int ready) {
  const SystemClock clock;
  ReportLog log;
  const auto executor = make_process_executor({folder, "victim"}, clock);
  if (!executor->open(log)) {
    ::_exit(1);
  }
  executor->submit({victims.succeeds, victims.fails, victims.runs, victims.stubborn});
  const bool stands = log.wait_for<SaysEnded>(victims.succeeds.key) &&
                      log.wait_for<SaysEnded>(victims.fails.key) &&
                      log.wait_for<SaysRunning>(victims.runs.key) &&
                      log.wait_for<SaysRunning>(victims.stubborn.key);
  if (!stands || ::write(ready, "r", 1) != 1) {
    ::_exit(1);
  }
  while (true) {
    ::pause();
  }
}

struct OtherEngine {
  TempFolder scratch;
  std::string folder = scratch / "store.d";
  SystemClock clock;
  ReportLog log;
  std::unique_ptr<Executor> executor;

  void open() {
    executor = make_process_executor({folder, "second"}, clock);
    REQUIRE(executor->open(log));
  }

  /// Asks until the answer is not unknown.
  AttemptNews ask(const AttemptKey& key, const std::string& incarnation) {
    AttemptNews news = SaysUnknown{};
    CHECK(eventually([&] {
      log.clear();
      executor->query({{key, incarnation}});
      REQUIRE(eventually([&] { return !log.of(key).empty(); }));
      news = log.of(key).front();
      return !std::holds_alternative<SaysUnknown>(news);
    }));
    return news;
  }
};

}  // namespace

TEST_CASE_FIXTURE(OtherEngine,
                  "an engine killed with -9: its launcher ends what runs and leaves records") {
  const std::string pids = scratch / "pids";
  const auto endless = [&](const std::string& trap) {
    return shell(trap + "sleep 1000 & echo $! >>" + pids + "; echo $$ >>" + pids +
                 "; while :; do sleep 1; done");
  };
  Victims victims;
  victims.runs = launch_of(endless(""));
  victims.stubborn = launch_of(endless("trap '' TERM; "));
  std::array<int, 2> ready{-1, -1};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t engine = ::fork();
  if (engine == 0) {
    be_engine(folder, victims, ready[1]);
  }
  ::close(ready[1]);
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::close(ready[0]);
  REQUIRE(eventually([&] { return std::ranges::count(read_file(pids), '\n') == 4; }));
  ::kill(engine, SIGKILL);
  ::waitpid(engine, nullptr, 0);

  open();
  CHECK(ask(victims.succeeds.key, "victim") == AttemptNews{SaysEnded{exited(0)}});
  CHECK(ask(victims.fails.key, "victim") == AttemptNews{SaysEnded{exited(3)}});
  CHECK(ask(victims.runs.key, "victim") ==
        AttemptNews{SaysEnded{{.kind = OutcomeKind::lost, .signal = 15, .error = "engine ended"}}});
  CHECK(ask(victims.stubborn.key, "victim") ==
        AttemptNews{SaysEnded{{.kind = OutcomeKind::lost, .signal = 9, .error = "engine ended"}}});
  const AttemptNews never{SaysEnded{{.kind = OutcomeKind::not_launched, .error = "not launched"}}};
  CHECK(ask(victims.never.key, "victim") == never);
  CHECK(ask(victims.never.key, "victim") == never);
  CHECK(read_command_log(folder, victims.fails.key)->head == "x\n");

  std::istringstream numbers{read_file(pids)};
  for (pid_t pid = 0; numbers >> pid;) {
    CHECK(eventually([&] { return !is_running(pid); }));
  }

  // Acknowledged by the second engine, the records go.
  executor->acknowledge({victims.succeeds.key, victims.fails.key});
  CHECK(ask(victims.fails.key, "victim") == AttemptNews{SaysAbsent{.proven = true}});
}

TEST_CASE_FIXTURE(OtherEngine,
                  "while the launcher of another incarnation lives, its attempts are unknown") {
  open();
  const std::string path = folder + "/launchers/other";
  const UniqueFd lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
  const AttemptKey key = next_key();
  executor->query({{key, "other", false}});
  CHECK(log.wait_for<SaysUnknown>(key));
}

TEST_CASE_FIXTURE(OtherEngine, "a key that another incarnation tombstoned is never launched") {
  open();
  const Launch launch = launch_of(command({"true"}));
  const AttemptNews never = ask(launch.key, "other");
  REQUIRE(std::holds_alternative<SaysEnded>(never));
  // The engine that was thought dead comes back with its launch.
  const auto late = make_process_executor({folder, "other"}, clock);
  ReportLog late_log;
  REQUIRE(late->open(late_log));
  late->submit({launch});
  CHECK(AttemptNews{*late_log.wait_for<SaysEnded>(launch.key)} == never);
  CHECK(late_log.of(launch.key).size() == 1);
}

TEST_CASE_FIXTURE(CommandFixture, "a dead launcher takes its commands along and is replaced") {
  const std::string pids = scratch / "pids";
  const AttemptKey lost = start(shell("sleep 1000 & echo $! $$ >" + pids + "; wait"));
  const AttemptKey ended = start(shell("exit 3"));
  CHECK(end_of(ended).outcome == exited(3));
  REQUIRE(eventually([&] { return !read_file(pids).empty(); }));
  const pid_t first = launcher();
  REQUIRE(first > 0);
  REQUIRE(::kill(first, SIGKILL) == 0);
  CHECK(log.wait_for<SaysAbsent>(lost) == SaysAbsent{.proven = true});
  std::istringstream numbers{read_file(pids)};
  for (pid_t pid = 0; numbers >> pid;) {
    CHECK(eventually([&] { return !is_running(pid); }));
  }

  CHECK(run(shell("exit 4")).outcome == exited(4));
  CHECK(launcher() != first);
  log.clear();
  executor->query({{lost, "ours"}, {ended, "ours"}});
  CHECK(log.wait_for<SaysAbsent>(lost) == SaysAbsent{.proven = true});
  CHECK(end_of(ended).outcome == exited(3));
}

TEST_CASE("the launcher compares the clock itself, immediately before the launch") {
  const TempFolder scratch;
  const FixedClock slow;  // the engine takes the trust for good
  ReportLog log;
  const auto executor = make_process_executor({scratch / "store.d", "ours"}, slow);
  REQUIRE(executor->open(log));
  const std::string trace = scratch / "trace";
  Launch launch = launch_of(command({"touch", trace}));
  launch.trusted_until = BootTime{1ms};
  executor->submit({launch});
  const auto end = log.wait_for<SaysEnded>(launch.key);
  REQUIRE(end);
  CHECK(end->outcome.kind == OutcomeKind::not_launched);
  executor->close(10s);
  CHECK(::access(trace.c_str(), F_OK) != 0);
}
