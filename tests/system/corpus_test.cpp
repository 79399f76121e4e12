// Whole runs of the corpus, on a stack of 1 MiB: what recurses with its input does not come back.
#include "tests/system/system_fixture.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>

namespace stagecall::testing {
namespace {

/// The processes started meanwhile have what `ulimit -s 1024` gives.
class SmallStackForChildren {
 public:
  SmallStackForChildren() {
    ::getrlimit(RLIMIT_STACK, &before_);
    set(rlimit{rlim_t{1} << 20, before_.rlim_max});
  }
  SmallStackForChildren(const SmallStackForChildren&) = delete;
  SmallStackForChildren& operator=(const SmallStackForChildren&) = delete;
  ~SmallStackForChildren() { set(before_); }

 private:
  static void set(const rlimit& limit) { ::setrlimit(RLIMIT_STACK, &limit); }

  rlimit before_{};
};

Dependencies dependencies_of(const std::filesystem::path& instance) {
  const auto value = nlohmann::json::parse(testing::read_file(instance));
  Dependencies dependencies;
  for (const auto& task : value.at("workflow").at("specification").at("tasks")) {
    dependencies[task.at("id")] = task.at("parents").get<std::vector<std::string>>();
  }
  return dependencies;
}

void check_instances(SystemFixture& fixture, const std::string& speedup) {
  const auto corpus = testing::corpus_folder();
  if (!corpus) {
    return;
  }
  const SmallStackForChildren small_stack;
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator{*corpus / "wfinstances"}) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    ++seen;
    CAPTURE(entry.path());
    const Dependencies dependencies = dependencies_of(entry.path());
    const std::vector<std::string> run{"run",    entry.path(), "--speedup", speedup,
                                       "--json", "--slots",    "1000"};
    const ChildEnd end = fixture.launch(run)->wait(kLongRun);
    INFO(end.err);
    CHECK(end.exit_code == 0);
    const auto value = nlohmann::json::parse(end.out);
    CHECK(value["status"] == "succeeded");
    CHECK(value["nodes"]["total"] == dependencies.size());
    CHECK(value["nodes"]["succeeded"] == dependencies.size());
    const auto history = fixture.history(value["pipeline"]);
    CHECK(faults_of_history(history, dependencies) == std::vector<std::string>{});
    const auto submitted = std::count_if(history.begin(), history.end(), [](const auto& line) {
      return line.at("kind") == "attempt_submitted";
    });
    CHECK(static_cast<std::size_t>(submitted) == dependencies.size());
    MESSAGE(entry.path().stem() << " / " << speedup << ": " << value["seconds"] << " s");
  }
  CHECK(seen == 8);
  fixture.check_verified();
}

TEST_CASE_FIXTURE(SystemFixture, "I2: recorded workflows succeed a thousand times as fast") {
  check_instances(*this, "1000");
}

TEST_CASE_FIXTURE(SystemFixture, "I2: recorded workflows succeed 100,000 times as fast") {
  check_instances(*this, "100000");
}

TEST_CASE_FIXTURE(SystemFixture, "R23: graphs of joins succeed, deep, wide or dense") {
  const auto corpus = testing::corpus_folder();
  if (!corpus) {
    return;
  }
  const testing::MadeCorpus made{*corpus};
  const SmallStackForChildren small_stack;
  const std::map<std::string, int> sizes{{"chain_10k", 10'000},
                                         {"fan_1_10k_1", 10'002},
                                         {"layers_20x100_full", 2'000},
                                         {"wide_100k", 100'000},
                                         {"ladder_2x60", 120}};
  for (const auto& [name, size] : sizes) {
    CAPTURE(name);
    const ChildEnd end = launch({"run", made.graph(name), "--json"})->wait(kLongRun);
    INFO(end.err);
    CHECK(end.exit_code == 0);
    const auto value = nlohmann::json::parse(end.out);
    CHECK(value["nodes"]["total"] == size);
    CHECK(value["nodes"]["succeeded"] == size);
    MESSAGE(name << ": " << value["seconds"] << " s");
  }
  check_verified();
}

TEST_CASE_FIXTURE(SystemFixture, "a cycle of 10,000 nodes is refused, and nothing is stored") {
  const auto corpus = testing::corpus_folder();
  if (!corpus) {
    return;
  }
  const testing::MadeCorpus made{*corpus};
  const SmallStackForChildren small_stack;
  const auto error = call_json({"run", made.graph("cycle_10k")}, 2)["error"];
  CHECK(error["code"] == "invalid_pipeline");
  CHECK(error["cycle"].size() == 10'000);
  CHECK_FALSE(has_store());
}

}  // namespace
}  // namespace stagecall::testing
