#include "tests/persistence/fixtures.hpp"

#include "platform/process.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace stagecall::testing {

int start_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::_exit(body());
  }
  return pid;
}

int wait_for_child(int pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int run_in_child(const std::function<int()>& body) {
  return wait_for_child(start_child(body));
}

std::string bytes_of(const std::string& path) {
  const std::string copy = path + ".bytes";
  REQUIRE(run_in_child([&] {
            std::error_code failed;
            std::filesystem::copy_file(path, copy,
                                       std::filesystem::copy_options::overwrite_existing, failed);
            return failed ? 1 : 0;
          }) == 0);
  std::ifstream file{copy, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  std::filesystem::remove(copy);
  return bytes;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

std::unique_ptr<Store> open_store(const std::string& path) {
  auto store = open_sqlite_store({.path = path});
  REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
  return std::move(*store);
}

WallTime wall(std::int64_t milliseconds) {
  return WallTime{Duration{milliseconds}};
}

ReplicaIdentity replica(const std::string& incarnation) {
  return {"replica-of-" + incarnation, incarnation, this_process()};
}

StartRun start_of(const std::string& pipeline) {
  return {.pipeline = pipeline,
          .definition = R"({"pipeline":")" + pipeline + R"("})",
          .holder = replica("first"),
          .at = wall(1'000),
          .events = {RunStarted{}, TermOpened{replica("first")}},
          .summary = {.state = RunState::running, .nodes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}};
}

AppendPass append_to(const RunRow& row, std::vector<Event> events) {
  return {
      .run = row.run,
      .term = row.term,
      .previous = row.last_seq,
      .at = wall(2'000),
      .events = std::move(events),
      .consumed = {},
      .summary = {
          .state = RunState::running, .nodes = {0, 1}, .passes = {3, 4}, .due_at = wall(5'000)}};
}

PutInbox stop_of(const RunId& run, const std::string& request_id) {
  return {.run = run, .request_id = request_id, .message = StopInput{"enough"}, .at = wall(3'000)};
}

PutInbox done_of(const RunId& run, const std::string& node, const std::string& request_id) {
  return {.run = run,
          .request_id = request_id,
          .message = NodeDoneInput{.node = node, .outcome = {}},
          .at = wall(3'000)};
}

PutInbox report_of(const RunId& run, const std::string& request_id) {
  return {.run = run,
          .request_id = request_id,
          .message = ReportInput{"n", Attempt{1}, Nonce{7}, SaysRunning{}},
          .at = wall(3'000)};
}

RunRow started(Store& store, const StartRun& start) {
  const auto reply = write_one<RunStartedReply>(store, start);
  REQUIRE_MESSAGE(reply, (reply ? "" : reply.error().message));
  return reply->row;
}

RunRow ended(Store& store, const RunRow& row, WallTime at) {
  AppendPass end = append_to(row, {RunEnded{RunState::failed}});
  end.summary.state = RunState::failed;
  end.summary.ended_at = at;
  REQUIRE(write_one<AppendReply>(store, end));
  return store.run(row.run).value();
}

}  // namespace stagecall::testing
