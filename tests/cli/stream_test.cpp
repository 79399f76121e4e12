// Where the answer goes, and what is said when it cannot get there.
#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

class StreamFixture : public CliFixture {
 public:
  /// The command line by a shell, which takes care of its streams.
  ChildEnd shell(const std::string& arguments) {
    return launch_program({"/bin/sh", "-c", binary_folder() + "/stagecall " + arguments})->wait();
  }
};

TEST_CASE_FIXTURE(StreamFixture, "an answer that cannot be written ends with 4 and a word") {
  const std::string pipeline = file("p.json", one_node("p", R"("task":"noop")"));
  CHECK(call({"run", pipeline}).exit_code == 0);
  for (const char* arguments : {"status >/dev/full", "status --json --quiet >/dev/full",
                                "history p >&-", "nonsense --json >/dev/full", "--help >&-"}) {
    CAPTURE(arguments);
    const ChildEnd end = shell(arguments);
    CHECK(end.exit_code == 4);
    CHECK(contains(end.err, "could not be written whole to stdout"));
  }
  // What has no answer does not miss its stream.
  CHECK(shell("run " + pipeline + " >&- 2>&- <&-").exit_code == 0);
  CHECK(call({"verify"}).exit_code == 0);
}

TEST_CASE_FIXTURE(StreamFixture, "an unknown command is named, an empty RUN is of no run") {
  const ChildEnd unknown = call({"frobnicate"});
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.err, "there is no command \"frobnicate\""));
  const std::string pipeline = file("p.json", one_node("p", R"("task":"noop")"));
  CHECK(call({"run", pipeline}).exit_code == 0);
  for (const char* command : {"status", "verify", "stop", "wait", "history", "explain"}) {
    CAPTURE(command);
    CHECK(call_json({command, ""}, 2)["error"]["code"] == "not_found");
  }
}

TEST_CASE_FIXTURE(StreamFixture, "a folder as settings file is refused as such") {
  const auto error = call_json({"status", "--config", home()}, 2)["error"];
  CHECK(error["code"] == "invalid_argument");
  CHECK(contains(error["message"], home() + ": it is a folder"));
}

}  // namespace
}  // namespace stagecall::testing
