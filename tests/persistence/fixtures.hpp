// What the tests of this layer share: folders, files as bytes, child processes, builders of writes.
#pragma once

#include "persistence/sqlite_store.hpp"
#include "tests/support/temp_folder.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stagecall::testing {

/// Runs in a child process; its exit status, or minus the signal that ended it.
int run_in_child(const std::function<int()>& body);
/// The child's pid; reap it with wait_for_child.
int start_child(const std::function<int()>& body);
int wait_for_child(int pid);

/// Reads in a child process: here it would take the locks of open connections away.
std::string bytes_of(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);

/// Fails the test case if it does not open.
std::unique_ptr<Store> open_store(const std::string& path);

WallTime wall(std::int64_t milliseconds);
ReplicaIdentity replica(const std::string& incarnation);
StartRun start_of(const std::string& pipeline);
/// Continues a run that its first holder has started with `start_of`.
AppendPass append_to(const RunRow& row, std::vector<Event> events = {BackoffEnded{NodeIndex{7}}});
PutInbox stop_of(const RunId& run, const std::string& request_id = {});
/// Of an external node; of each node only one may wait.
PutInbox done_of(const RunId& run, const std::string& node, const std::string& request_id = {});
/// Of an executor; any number may wait.
PutInbox report_of(const RunId& run, const std::string& request_id = {});

/// Writes one and gives its reply of that kind, or the error.
template <class ReplyKind>
Result<ReplyKind> write_one(Store& store, Write write) {
  auto replies = store.write({std::move(write)});
  if (!replies) {
    return tl::unexpected<Error>{replies.error()};
  }
  if (!replies->front()) {
    return tl::unexpected<Error>{replies->front().error()};
  }
  return std::get<ReplyKind>(*replies->front());
}

/// Starts it, or joins; its row.
RunRow started(Store& store, const StartRun& start);
/// Ends a run that goes on where `row` says, as failed; its row.
RunRow ended(Store& store, const RunRow& row, WallTime at = wall(9'000));

/// The code of what failed; succeeds only with an error.
template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "no error" : std::string{name_of(result.error().code)};
}

}  // namespace stagecall::testing
