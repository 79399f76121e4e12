// What the process executor does with commands: how they start, what they get, how they end.
#include "executors/process_executor.hpp"

#include "tests/executors/command_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

using namespace stagecall;
using namespace stagecall::testing;

TEST_CASE_FIXTURE(CommandFixture, "commands keep the contract of executors") {
  CHECK(executor->name() == "process");
  int count = 0;
  check_executor_contract({.open = [&](ReportSink& sink) -> Result<std::unique_ptr<Executor>> {
                             const std::string fresh_folder =
                                 scratch / "fresh-" + std::to_string(++count);
                             auto fresh = make_process_executor({fresh_folder, "ours"}, clock);
                             return fresh->open(sink).map([&] { return std::move(fresh); });
                           },
                           .quick = command({"true"}),
                           .endless = command({"sleep", "1000"})});
}

TEST_CASE_FIXTURE(CommandFixture, "X4: exit codes and signals are told apart") {
  CHECK(run(shell("exit 3")).outcome == exited(3));
  CHECK(run(shell("exit 137")).outcome == exited(137));
  CHECK(run(shell("exit 255")).outcome == exited(255));
  CHECK(run(shell("exit 256")).outcome == exited(0));
  CHECK(run(shell("kill -9 $$")).outcome ==
        Outcome{.kind = OutcomeKind::failed, .signal = 9, .error = "signal 9 (KILL)"});
  CHECK(run(shell("kill -SEGV $$")).outcome ==
        Outcome{.kind = OutcomeKind::failed, .signal = 11, .error = "signal 11 (SEGV)"});
}

TEST_CASE_FIXTURE(CommandFixture, "X6: what keeps a command from starting is told apart") {
  const std::string plain = scratch / "plain";
  std::ofstream{plain} << "#!/bin/sh\n";
  NodeSpec nowhere = command({"true"});
  nowhere.cwd = "/no/such/folder";
  const auto failed = [](std::string error) {
    return Outcome{.kind = OutcomeKind::failed, .error = std::move(error)};
  };
  CHECK(run(command({"no-such-program"})).outcome ==
        failed("cannot start \"no-such-program\": No such file or directory"));
  CHECK(run(command({plain})).outcome ==
        failed("cannot start \"" + plain + "\": Permission denied"));
  CHECK(run(nowhere).outcome ==
        failed("cannot enter \"/no/such/folder\": No such file or directory"));
  CHECK(run(command({""})).outcome == failed("cannot start \"\": No such file or directory"));
  CHECK(run(command({"true"})).outcome == exited(0));
}

TEST_CASE_FIXTURE(CommandFixture, "a program is looked up in the PATH that the command gets") {
  const std::string tool = scratch / "only-here";
  std::ofstream{tool} << "#!/bin/sh\necho found\n";
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  NodeSpec node = command({"only-here"});
  CHECK(run(node).outcome.kind == OutcomeKind::failed);
  node.env["PATH"] = "/no/such:" + scratch.path() + ":/usr/bin:/bin";
  CHECK(output_of(node) == "found\n");
}

TEST_CASE_FIXTURE(CommandFixture, "I4: too large an argument or environment fails that node only") {
  const Outcome too_long{.kind = OutcomeKind::failed,
                         .error = "cannot start \"true\": Argument list too long"};
  NodeSpec large_env = command({"true"});
  for (int i = 0; i < 30; ++i) {
    large_env.env["LARGE_" + std::to_string(i)] = std::string(100'000, 'x');
  }
  const AttemptKey argument = start(command({"true", std::string(131'072, 'x')}));
  const AttemptKey environment = start(large_env);
  const AttemptKey fits = start(command({"true", std::string(131'071, 'x')}));
  CHECK(end_of(argument).outcome == too_long);
  CHECK(end_of(environment).outcome == too_long);
  CHECK(end_of(fits).outcome == exited(0));
}

TEST_CASE_FIXTURE(CommandFixture, "what no program can be given is rejected") {
  NodeSpec equals = command({"true"});
  equals.env["A=B"] = "1";
  NodeSpec nul = command({"true", std::string("a\0b", 3)});
  for (const NodeSpec& node : {equals, nul, command({})}) {
    CHECK(run(node).outcome.kind == OutcomeKind::rejected);
  }
}

TEST_CASE_FIXTURE(CommandFixture, "X7: a command gets the allow-listed environment and its own") {
  ::setenv("STAGECALL_TEST_SECRET", "secret", 1);
  ::setenv("LC_TIME", "C", 1);
  ::unsetenv("LANG");
  executor->close(10s);
  open("ours-again");
  NodeSpec node = command({"env", "-0"});
  node.env = {{"MINE", "a\nb"}, {"STAGECALL_NODE", "forged"}, {"HOME", "/elsewhere"}};
  Launch launch = launch_of(node, next_key("nöde"));
  executor->submit({launch});
  REQUIRE(end_of(launch.key).outcome == exited(0));
  std::map<std::string, std::string> got;
  std::istringstream lines{log_of(launch.key).head};
  for (std::string line; std::getline(lines, line, '\0');) {
    got.emplace(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  }
  const std::set<std::string> allowed{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR"};
  const std::string output = got["STAGECALL_OUTPUT"];
  for (auto variable = got.begin(); variable != got.end();) {
    const std::string& name = variable->first;
    const bool is_inherited = allowed.contains(name) && name != "HOME";
    const bool is_other_locale = name.starts_with("LC_") && name != "LC_TIME";
    variable = is_inherited || is_other_locale ? got.erase(variable) : std::next(variable);
  }
  CHECK(got == std::map<std::string, std::string>{{"HOME", "/elsewhere"},
                                                  {"LC_TIME", "C"},
                                                  {"MINE", "a\nb"},
                                                  {"STAGECALL_ATTEMPT", "1"},
                                                  {"STAGECALL_KEY", launch.key.text()},
                                                  {"STAGECALL_NODE", "nöde"},
                                                  {"STAGECALL_OUTPUT", output},
                                                  {"STAGECALL_PIPELINE", "pipeline"},
                                                  {"STAGECALL_RUN", "pipeline/1"},
                                                  {"STAGECALL_TERM", "7"}});
  CHECK(output.starts_with(folder));
  CHECK(output.find("nöde") == std::string::npos);
}

TEST_CASE_FIXTURE(CommandFixture,
                  "X7: a command starts with default signals and descriptors 0 to 2") {
  executor->close(10s);
  // The host ignores, blocks and leaves open what its commands must not inherit.
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old_interrupt = ::signal(SIGINT, SIG_IGN);
  const auto old_pipe = ::signal(SIGPIPE, SIG_IGN);
  const int leaked = ::dup(2);
  open("ours-again");
  std::istringstream status{output_of(command({"cat", "/proc/self/status"}))};
  std::istringstream descriptors{output_of(command({"ls", "-l", "/proc/self/fd"}))};
  const std::string input = output_of(shell("readlink /proc/$$/fd/0; wc -c"));
  ::close(leaked);
  ::signal(SIGINT, old_interrupt);
  ::signal(SIGPIPE, old_pipe);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  std::vector<std::string> signals;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:") || line.starts_with("SigIgn:") || line.starts_with("SigCgt:")) {
      signals.push_back(line.substr(line.find('\t') + 1));
    }
  }
  CHECK(signals == std::vector<std::string>(3, "0000000000000000"));
  CHECK(input == "/dev/null\n0\n");
  std::vector<std::string> targets;
  for (std::string line; std::getline(descriptors, line);) {
    if (const auto arrow = line.find(" -> "); arrow != std::string::npos) {
      targets.push_back(line.substr(arrow + 4, 5));
    }
  }
  // The fourth is the folder that ls itself reads.
  CHECK(targets == std::vector<std::string>{"/dev/", "pipe:", "pipe:", "/proc"});
}

TEST_CASE_FIXTURE(CommandFixture, "a command runs in its cwd, else in the engine's") {
  NodeSpec there = command({"pwd"});
  there.cwd = "/usr";
  CHECK(output_of(there) == "/usr\n");
  CHECK(output_of(command({"pwd"})) == std::filesystem::current_path().string() + "\n");
}

TEST_CASE_FIXTURE(CommandFixture,
                  "a command leaves an output, one that is no JSON or too long fails it") {
  CHECK(run(shell(R"(echo '{"rows": 3}' > "$STAGECALL_OUTPUT")")) ==
        SaysEnded{exited(0), "{\"rows\": 3}\n"});
  CHECK(run(shell("exit 0")) == SaysEnded{exited(0), ""});
  const SaysEnded ill = run(shell(R"(echo nonsense > "$STAGECALL_OUTPUT")"));
  CHECK(ill.outcome.kind == OutcomeKind::failed);
  CHECK(ill.outcome.error.find("not JSON") != std::string::npos);
  CHECK(ill.output.empty());
  const SaysEnded endless = run(shell(
      R"((printf '"'; head -c 65536 /dev/zero | tr '\0' x; printf '"') > "$STAGECALL_OUTPUT")"));
  CHECK(endless.outcome.kind == OutcomeKind::failed);
  CHECK(endless.outcome.error.find("65536") != std::string::npos);
  CHECK(run(shell(R"(mkfifo "$STAGECALL_OUTPUT")")) == SaysEnded{exited(0), ""});
}

TEST_CASE_FIXTURE(CommandFixture, "X2: a stop ends the whole group and not the engine's") {
  const std::string pids = scratch / "pids";
  const AttemptKey key = start(shell("sleep 1000 & echo $! >" + pids + "; sleep 1000 | cat"));
  REQUIRE(eventually([&] { return !read_file(pids).empty(); }));
  const pid_t member = std::stoi(read_file(pids));
  CHECK(is_running(member));
  executor->cancel({{key, CancelReason::stop, 10s}});
  CHECK(end_of(key).outcome ==
        Outcome{.kind = OutcomeKind::stopped, .signal = 15, .error = "stopped"});
  CHECK(eventually([&] { return !is_running(member); }));
}

TEST_CASE_FIXTURE(CommandFixture, "a command that ignores TERM is killed after its grace") {
  const AttemptKey key = start(shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
  REQUIRE(eventually([&] { return read_command_log(folder, key).has_value(); }));
  executor->cancel({{key, CancelReason::timeout, 50ms}});
  CHECK(end_of(key).outcome ==
        Outcome{.kind = OutcomeKind::timed_out, .signal = 9, .error = "timed out"});
}

TEST_CASE_FIXTURE(CommandFixture, "what exits with 0 from its handler of TERM has not succeeded") {
  const AttemptKey key =
      start(shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(eventually([&] { return read_command_log(folder, key).has_value(); }));
  executor->cancel({{key, CancelReason::stop, 10s}});
  CHECK(end_of(key).outcome ==
        Outcome{.kind = OutcomeKind::stopped, .exit_code = 0, .error = "stopped"});
}

TEST_CASE_FIXTURE(CommandFixture, "a cancelled command that ignores TERM and ends well succeeds") {
  const std::string go = scratch / "go";
  const AttemptKey key =
      start(shell("trap '' TERM; echo ready; while [ ! -e " + go + " ]; do sleep 0.01; done"));
  REQUIRE(eventually([&] { return read_command_log(folder, key).has_value(); }));
  executor->cancel({{key, CancelReason::stop, 30s}});
  std::ofstream{go} << "";
  CHECK(end_of(key).outcome == exited(0));
}

TEST_CASE_FIXTURE(CommandFixture,
                  "a command has ended with its process, whoever holds its output") {
  const std::string pids = scratch / "pids";
  const AttemptKey key = start(shell("sleep 1000 & echo $! >" + pids + "; echo last"));
  CHECK(end_of(key).outcome == exited(0));
  CHECK(log_of(key).head == "last\n");
  const pid_t member = std::stoi(read_file(pids));
  CHECK(eventually([&] { return !is_running(member); }));
}

namespace {

void check_many_exits(CommandFixture& fixture) {
  std::vector<Launch> launches;
  for (int i = 0; i < 500; ++i) {
    launches.push_back(launch_of(shell("exit " + std::to_string(i % 256))));
  }
  fixture.executor->submit(launches);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    CAPTURE(i);
    CHECK(fixture.end_of(launches[i].key).outcome == exited(static_cast<int>(i % 256)));
  }
  CHECK(children_of(CommandFixture::launcher()).empty());
}

}  // namespace

TEST_CASE_FIXTURE(CommandFixture, "X3: 500 quick exits: no zombie, all statuses right") {
  check_many_exits(*this);
}

TEST_CASE_FIXTURE(CommandFixture, "X3: the same in a host that ignores SIGCHLD") {
  executor->close(10s);
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  open("ours-again");
  check_many_exits(*this);
  executor->close(10s);
  ::signal(SIGCHLD, before);
}

TEST_CASE_FIXTURE(CommandFixture,
                  "a close leaves no thread, descriptor or process, neither does a destructor") {
  executor->close(10s);
  const std::size_t descriptors = count_entries("/proc/self/fd");
  const std::size_t threads = count_entries("/proc/self/task");
  open("second");
  const AttemptKey first = start(command({"sleep", "1000"}));
  REQUIRE(log.wait_for<SaysRunning>(first));
  executor->close(10s);
  CHECK(children_of(::getpid()).empty());
  open("third");
  const AttemptKey stubborn = start(shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
  REQUIRE(eventually([&] { return read_command_log(folder, stubborn).has_value(); }));
  executor.reset();
  CHECK(children_of(::getpid()).empty());
  CHECK(count_entries("/proc/self/fd") == descriptors);
  CHECK(count_entries("/proc/self/task") == threads);
  CHECK(count_entries(folder + "/launchers") == 0);
}

TEST_CASE_FIXTURE(CommandFixture,
                  "a close kills in time what ignores TERM, and says how it ended") {
  const AttemptKey key = start(shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
  REQUIRE(eventually([&] { return read_command_log(folder, key).has_value(); }));
  executor->close(400ms);
  CHECK(end_of(key).outcome ==
        Outcome{.kind = OutcomeKind::interrupted, .signal = 9, .error = "interrupted"});
}

TEST_CASE_FIXTURE(CommandFixture, "a command waits for descriptors that its launcher lacks") {
  limit_descriptors(8);  // none for any command
  const AttemptKey waits = start(command({"true"}));
  const AttemptKey cancelled = start(command({"true"}));
  executor->cancel({{cancelled, CancelReason::stop, 10s}});
  CHECK(end_of(cancelled).outcome == Outcome{.kind = OutcomeKind::stopped, .error = "stopped"});
  limit_descriptors(16 + 2 * 2);  // for two at a time
  std::vector<AttemptKey> rest;
  for (int i = 0; i < 6; ++i) {
    rest.push_back(start(shell("echo x; sleep 0.01")));
  }
  CHECK(end_of(waits).outcome == exited(0));
  for (const AttemptKey& key : rest) {
    CHECK(end_of(key).outcome == exited(0));
    CHECK(log_of(key).head == "x\n");
  }
}

TEST_CASE_FIXTURE(CommandFixture, "what finds no descriptor while it is trusted is not launched") {
  limit_descriptors(8);
  Launch launch = launch_of(command({"true"}));
  launch.trusted_until = clock.boot() + 300ms;
  executor->submit({launch});
  CHECK(end_of(launch.key).outcome.kind == OutcomeKind::not_launched);
}

TEST_CASE("a folder that cannot be made is an error that names it") {
  const SystemClock clock;
  ReportLog log;
  const auto executor = make_process_executor({"/proc/no/store.d", "ours"}, clock);
  const auto opened = executor->open(log);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::executor_unavailable);
  CHECK(opened.error().message.find("/proc/no/store.d") != std::string::npos);
}
