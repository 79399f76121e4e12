// What commands get of the nodes before theirs, and what happens where they cannot get it.
#include "executors/attempt_path.hpp"
#include "messages/limits.hpp"
#include "tests/executors/command_fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

using Outputs = std::map<std::string, std::string>;

struct GivenInputs final : AttemptInputs {
  explicit GivenInputs(Result<Outputs> given) : given_(std::move(given)) {}
  Result<Outputs> read() const override { return given_; }

 private:
  Result<Outputs> given_;
};

struct Fixture : CommandFixture {
  Launch submit(const std::string& script, Result<Outputs> inputs) {
    Launch launch = launch_of(shell(script));
    launch.inputs = std::make_shared<const GivenInputs>(std::move(inputs));
    executor->submit({launch});
    return launch;
  }

  std::string inputs_of(const Launch& launch) const {
    return attempt_folder(folder, launch.key) + ".inputs";
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a command reads what the nodes before it left, as it was written") {
  const Launch launch = submit("cat \"$STAGECALL_INPUTS\"",
                               Outputs{{"a \"b\"", "{\"n\": 1.50}"}, {"last", "[1,\n2]"}});
  REQUIRE(end_of(launch.key).outcome == exited(0));
  CHECK(log_of(launch.key).head == "{\"a \\\"b\\\"\":{\"n\": 1.50},\"last\":[1,\n2]}\n");
}

TEST_CASE_FIXTURE(Fixture,
                  "inputs are an empty object where nobody left any, none for a first node") {
  const Launch launch = submit("cat \"$STAGECALL_INPUTS\"", Outputs{});
  REQUIRE(end_of(launch.key).outcome == exited(0));
  CHECK(log_of(launch.key).head == "{}\n");
  NodeSpec first = shell("echo \"${STAGECALL_INPUTS-none}\"");
  first.env["STAGECALL_INPUTS"] = "forged";
  CHECK(output_of(std::move(first)) == "none\n");
}

TEST_CASE_FIXTURE(Fixture, "inputs of 16 MiB reach the command whole") {
  const std::string large = '"' + std::string(kLimits.inputs_bytes_max - 2, 'x') + '"';
  const Launch launch = submit("wc -c < \"$STAGECALL_INPUTS\"", Outputs{{"a", large}});
  REQUIRE(end_of(launch.key).outcome == exited(0));
  CHECK(log_of(launch.key).head == std::to_string(kLimits.inputs_bytes_max + 7) + "\n");
}

TEST_CASE_FIXTURE(Fixture, "inputs that cannot be read or written fail that node, and say why") {
  const Launch unread =
      submit("true", fail(ErrorCode::limit_reached, "16777217 bytes are too many"));
  CHECK(end_of(unread.key).outcome ==
        Outcome{.kind = OutcomeKind::failed,
                .error = "cannot read the inputs: 16777217 bytes are too many"});
  CHECK_FALSE(std::filesystem::exists(attempt_folder(folder, unread.key)));

  Launch unwritten = launch_of(shell("true"));
  unwritten.inputs = std::make_shared<const GivenInputs>(Outputs{});
  std::filesystem::create_directories(inputs_of(unwritten));
  executor->submit({unwritten});
  CHECK(
      end_of(unwritten.key).outcome ==
      Outcome{.kind = OutcomeKind::failed,
              .error = "cannot write the inputs to " + inputs_of(unwritten) + ": Is a directory"});
}

TEST_CASE_FIXTURE(Fixture, "inputs go with the acknowledgement") {
  const Launch launch = submit("true", Outputs{{"a", "1"}});
  end_of(launch.key);
  CHECK(std::filesystem::exists(inputs_of(launch)));
  executor->acknowledge({launch.key});
  executor->close(10s);
  CHECK(std::filesystem::is_empty(folder + "/attempts"));
}
