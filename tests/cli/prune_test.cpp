// prune: ended runs go with all that is kept of them, whatever runs beside it.
#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>

#include <iterator>

namespace stagecall::testing {
namespace {

class PruneFixture : public CliFixture {
 public:
  std::string talker(const std::string& name) {
    return file(name + ".json", one_node(name, R"("command":["echo","hello"])"));
  }
  /// Runs of which attempts are kept.
  std::ptrdiff_t attempt_folders() {
    const std::filesystem::directory_iterator folders{store() + ".d/attempts"};
    return std::distance(begin(folders), end(folders));
  }
  nlohmann::json prune(const std::string& age) {
    return call_json({"prune", "--older-than", age}, 0);
  }
};

TEST_CASE_FIXTURE(PruneFixture, "T6: prune removes ended runs, live ones go on, iterations too") {
  const std::string pipeline = talker("p");
  for (int i = 0; i < 3; ++i) {
    CHECK(call({"run", pipeline}).exit_code == 0);
  }
  const std::string flag = path("go");
  const auto live =
      launch({"run", file("q.json", one_node("q", R"("command":["sh","-c","echo q; while [ ! -e )" +
                                                      flag + R"( ]; do sleep 0.01; done"])"))});
  REQUIRE(eventually_has("q", "running", 1));
  CHECK(attempt_folders() == 4);

  CHECK(prune("1h") == nlohmann::json{{"runs", 0}, {"events", 0}});
  CHECK(attempt_folders() == 4);
  const auto pruned = prune("0s");
  CHECK(pruned["runs"] == 3);
  CHECK(pruned["events"] >= 12);
  CHECK(attempt_folders() == 1);
  CHECK(call_json({"status", "p"}, 2)["error"]["code"] == "not_found");
  CHECK(call_json({"status"}, 0)["runs"].size() == 1);
  CHECK(prune("0s") == nlohmann::json{{"runs", 0}, {"events", 0}});

  file("go", "");
  CHECK(live->wait().exit_code == 0);
  CHECK(call({"logs", "q", "only"}).out == "q\n");
  CHECK(call_json({"run", pipeline}, 0)["iteration"] == 4);
  CHECK(call({"verify"}).exit_code == 0);
  CHECK(contains(call({"prune", "--older-than", "0s"}).out, "2 runs with "));
}

TEST_CASE_FIXTURE(PruneFixture, "prunes at once remove each run once, beside one that lives") {
  const std::string pipeline = talker("p");
  for (int i = 0; i < 4; ++i) {
    CHECK(call({"run", pipeline}).exit_code == 0);
  }
  const auto live = launch({"run", file("q.json", one_node("q", R"("command":["sleep","600"])"))});
  REQUIRE(eventually_has("q", "running", 1));
  std::vector<std::unique_ptr<ChildProcess>> prunes;
  for (int i = 0; i < 3; ++i) {
    prunes.push_back(launch({"prune", "--older-than", "0s", "--json"}));
  }
  std::uint64_t runs = 0;
  for (const auto& process : prunes) {
    const ChildEnd end = process->wait();
    CHECK(end.exit_code == 0);
    runs += nlohmann::json::parse(end.out)["runs"].get<std::uint64_t>();
  }
  CHECK(runs == 4);
  CHECK(attempt_folders() == 1);
  CHECK(call({"stop", "q"}).exit_code == 0);
  CHECK(live->wait().exit_code == 3);
  CHECK(call({"verify"}).exit_code == 0);
}

TEST_CASE_FIXTURE(PruneFixture, "prune checks the age before it opens the store") {
  for (const char* age : {"", "1", "-1s", "soon", "87601h"}) {
    CAPTURE(age);
    CHECK(
        contains(call_json({"prune", "--older-than", age}, 2)["error"]["message"], "--older-than"));
  }
  CHECK(call({"prune"}).exit_code == 2);
  CHECK_FALSE(has_store());
  CHECK(call_json({"prune", "--older-than", "1h"}, 2)["error"]["code"] == "not_found");
}

}  // namespace
}  // namespace stagecall::testing
