#include "tests/cli/cli_fixture.hpp"
#include "tests/support/corpus.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace stagecall::testing {
namespace {

TEST_CASE_FIXTURE(CliFixture, "I1: every file of the corpus is accepted or refused by its name") {
  const auto folder = testing::corpus_folder();
  if (!folder) {
    return;
  }
  const testing::MadeCorpus corpus{*folder};
  for (const testing::CorpusInput& input : corpus.inputs()) {
    CAPTURE(input.path.filename());
    for (const char* command : {"validate", "run", "start"}) {
      if (input.is_accepted && std::string{command} == "start") {
        continue;
      }
      CAPTURE(command);
      const std::string store = path(std::string{command} + ".db");
      const ChildEnd end = call({command, input.path, "--store", store});
      CHECK(end.exit_code == (input.is_accepted ? 0 : 2));
      CHECK(end.err.size() < 10'000);
      for (const std::string& name : input.names) {
        CHECK_MESSAGE(contains(end.err, name), end.err);
      }
      for (const std::string& silent : input.silent) {
        CHECK_MESSAGE(!contains(end.err, silent), end.err);
      }
      CHECK(std::filesystem::exists(store) == (input.is_accepted && std::string{command} == "run"));
      std::filesystem::remove_all(store);
      std::filesystem::remove_all(store + "-wal");
      std::filesystem::remove_all(store + "-shm");
      std::filesystem::remove_all(store + "-leases");
    }
    const auto value = call_json({"validate", input.path}, input.is_accepted ? 0 : 2);
    CHECK(value.contains(input.is_accepted ? "pipeline" : "error"));
  }
}

TEST_CASE_FIXTURE(CliFixture, "I1: a refusal lists its problems with their places") {
  const std::string pipeline =
      file("p.json", R"({"pipeline":"p","nodes":[{"id":"a","after":["b"]},{"id":"a","x":1}]})");
  const auto error = call_json({"validate", pipeline}, 2)["error"];
  CHECK(error["code"] == "invalid_pipeline");
  CHECK(error["problems"].size() >= 2);
  CHECK(error["problems"][0]["pointer"] == "/nodes/0/after/0");
  CHECK(contains(call({"validate", pipeline}).err, pipeline + ": /nodes/0/after/0: "));

  const std::string cycle = file(
      "c.json", R"({"pipeline":"p","nodes":[{"id":"a","after":["b"]},{"id":"b","after":["a"]}]})");
  CHECK(call_json({"validate", cycle}, 2)["error"]["cycle"].size() == 2);
  const std::string cut = file("t.json", R"({"pipeline":"p",)");
  CHECK(call_json({"validate", cut}, 2)["error"]["problems"][0].contains("byte"));
}

TEST_CASE_FIXTURE(CliFixture, "a file that cannot be read is named with the cause") {
  for (const auto& [name, cause] : std::vector<std::pair<std::string, std::string>>{
           {path("missing.json"), "No such file"}, {path(""), "directory"}}) {
    const ChildEnd end = call({"run", name});
    CHECK(end.exit_code == 2);
    CHECK(contains(end.err, name));
    CHECK(contains(end.err, cause));
  }
  CHECK_FALSE(has_store());
}

TEST_CASE_FIXTURE(CliFixture, "validate counts nodes, edges and depth") {
  const std::string pipeline = file("p.json", R"({"pipeline":"p","nodes":[{"id":"a"},)"
                                              R"({"id":"b","after":["a","a"]},)"
                                              R"({"id":"c","after":["a","b"]}]})");
  CHECK(call_json({"validate", pipeline}, 0) ==
        nlohmann::json{{"pipeline", "p"}, {"nodes", 3}, {"edges", 3}, {"depth", 3}});
}

TEST_CASE_FIXTURE(CliFixture, "validate warns of what is allowed, and yet hardly meant") {
  const std::string pipeline = file("p.json", R"({"pipeline":"p","nodes":[
    {"id":"a","task":"checksum"},
    {"id":"b","trigger":"any_failed","command":["true"]},
    {"id":"c","after":["a"],"trigger":"any_failed","command":["true"]},
    {"id":"d","command":["true"],"executor":"slurm"}]})");
  const auto warnings = call_json({"validate", pipeline}, 0)["warnings"];
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0]["pointer"] == "/nodes/0");
  CHECK(contains(warnings[0]["message"], "that has its task"));
  CHECK(warnings[1]["pointer"] == "/nodes/1");
  CHECK(contains(warnings[1]["message"], "never runs"));
  CHECK(contains(warnings[2]["message"], "that has its executor"));
  const ChildEnd end = call({"validate", pipeline});
  CHECK(end.exit_code == 0);
  CHECK(end.out == "p: 4 nodes, 1 edges, depth 2\n");
  CHECK(contains(end.err, pipeline + ": /nodes/1: warning: node \"b\" never runs"));
}

}  // namespace
}  // namespace stagecall::testing
