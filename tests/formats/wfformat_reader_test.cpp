#include "formats/wfformat_reader.hpp"

#include "formats/json_reader.hpp"
#include "tests/formats/refusals.hpp"

#include <string>
#include <vector>

using namespace stagecall;
using testing::holds;
using testing::places;
using testing::refusal;
using Texts = std::vector<std::string>;

namespace {

std::string instance(const std::string& tasks, const std::string& recorded,
                     const std::string& version = "1.5") {
  return R"({"name":"n","schemaVersion":")" + version + R"(","other":null,)" +
         R"("workflow":{"specification":{"tasks":[)" + tasks + R"(],"files":[]},)" +
         R"("execution":{"makespanInSeconds":1,"tasks":[)" + recorded + "]}}}";
}

const std::string kTasks = R"({"name":"x","id":"a 1","parents":[],"children":["b"],"files":null},)"
                           R"({"name":"x","id":"b","parents":["a 1"],"children":[]})";
const std::string kRecorded = R"({"id":"b","runtimeInSeconds":0.0,"command":{}},)"
                              R"({"id":"a 1","runtimeInSeconds":3})";

PipelineSpec two_sleeps(const std::string& first, const std::string& second) {
  return {
      .name = "stem",
      .nodes = {{.id = "a 1", .action = TaskAction{"sleep"}, .params = first},
                {.id = "b", .after = {"a 1"}, .action = TaskAction{"sleep"}, .params = second}}};
}

}  // namespace

TEST_CASE("tasks become sleeps of their recorded runtime, named by id, in a pipeline of the stem") {
  const auto read = read_pipeline(instance(kTasks, kRecorded), testing::kOptions);
  REQUIRE(read.has_value());
  CHECK((*read)->spec() == two_sleeps(R"({"seconds":3})", R"({"seconds":0})"));
  CHECK(read_pipeline(instance(kTasks, kRecorded, "1.4"), testing::kOptions).has_value());
}

TEST_CASE("the speedup divides the runtimes") {
  const auto read = read_pipeline(instance(kTasks, kRecorded), {.stem = "stem", .speedup = 1000});
  REQUIRE(read.has_value());
  CHECK((*read)->spec() == two_sleeps(R"({"seconds":0.003})", R"({"seconds":0})"));
}

TEST_CASE("the flat layout of 1.4 is read, with parents by name") {
  const auto read = read_pipeline(
      R"({"name":"n","schemaVersion":"1.4","workflow":{"makespanInSeconds":4,"machines":[],"tasks":[
        {"name":"first","id":"a 1","type":"compute","runtimeInSeconds":3,
         "parents":[],"children":["second"]},
        {"name":"second","id":"b","type":"compute","runtime":0.5,
         "parents":["first"],"children":[]}]}})",
      testing::kOptions);
  REQUIRE(read.has_value());
  CHECK((*read)->spec() == two_sleeps(R"({"seconds":3})", R"({"seconds":0.5})"));
}

TEST_CASE("other versions are refused by name") {
  for (const std::string version : {"1.3", "1.6", "", "2"}) {
    const Error error = refusal(instance(kTasks, kRecorded, version));
    CHECK(places(error) == Texts{"/schemaVersion"});
    CHECK(error.problems[0].value == version);
    CHECK(holds(error.message, "1.4, 1.5"));
  }
  CHECK(holds(refusal(R"({"workflow":{}})").message, "\"schemaVersion\" is missing"));
}

TEST_CASE("parents and children must agree, both ways") {
  const Error error = refusal(instance(
      R"({"id":"a","parents":[],"children":["b","d"]},{"id":"b","parents":[],"children":[]},)"
      R"({"id":"c","parents":["b","zz"],"children":[]},{"id":"d","parents":["a"]})",
      R"({"id":"a","runtimeInSeconds":1},{"id":"b","runtimeInSeconds":1},)"
      R"({"id":"c","runtimeInSeconds":1},{"id":"d","runtimeInSeconds":1})"));
  const std::string tasks = "/workflow/specification/tasks";
  CHECK(places(error) ==
        Texts{tasks + "/0/children/0", tasks + "/2/parents/0", tasks + "/2/parents/1"});
  CHECK(holds(error.problems[0].message, "\"b\" does not name \"a\" among its parents"));
  CHECK(holds(error.problems[1].message, "\"b\" does not name \"c\" among its children"));
  CHECK(holds(error.problems[2].message, "\"zz\""));
}

TEST_CASE("runtimes must be recorded, once each, finite and not negative") {
  const std::string a = R"({"id":"a 1","runtimeInSeconds":3},)";
  const std::string tasks = "/workflow/specification/tasks/1";
  const std::string recorded = "/workflow/execution/tasks/1";
  CHECK(places(refusal(instance(kTasks, a + "{\"id\":\"x\"}"))) == Texts{tasks});
  CHECK(places(refusal(instance(kTasks, a + R"({"id":"b","runtimeInSeconds":-1})"))) ==
        Texts{recorded + "/runtimeInSeconds"});
  CHECK(places(refusal(instance(kTasks, a + R"({"id":"b","runtimeInSeconds":"1"})"))) ==
        Texts{recorded + "/runtimeInSeconds"});
  CHECK(places(refusal(instance(kTasks, a + R"({"id":"b","runtimeInSeconds":1},{"id":"b"})"))) ==
        Texts{"/workflow/execution/tasks/2/id"});
  CHECK_FALSE(read_pipeline(instance(kTasks, a + R"({"id":"b","runtimeInSeconds":1e300})"),
                            {.stem = "s", .speedup = 1e-300})
                  .has_value());
}

TEST_CASE("ids, cycles and missing parts are refused as in pipeline files") {
  CHECK(places(refusal(R"({"schemaVersion":"1.5","workflow":{}})")) == Texts{"/workflow"});
  CHECK(places(refusal(instance("", ""))) == Texts{"/workflow/specification/tasks"});
  CHECK(places(refusal(instance(R"({"parents":[]})", ""))).front() ==
        "/workflow/specification/tasks/0");
  CHECK(refusal(instance(R"({"id":"a","parents":["b"]},{"id":"b","parents":["a"]})",
                         R"({"id":"a","runtimeInSeconds":1},{"id":"b","runtimeInSeconds":1})"))
            .cycle == Texts{"a", "b"});
  const auto unnamed = read_pipeline(instance(kTasks, kRecorded), {.stem = ""});
  REQUIRE_FALSE(unnamed.has_value());
  CHECK(holds(unnamed.error().message, "the file's name"));
}

TEST_CASE("what is no object is no recorded workflow, and read without harm") {
  for (const std::string text : {"[1]", "[]", "[[\"workflow\",{}]]", "7", "\"workflow\"", "null"}) {
    CAPTURE(text);
    JsonDocument document;
    ProblemList problems;
    REQUIRE(read_json(text, document, problems));
    CHECK_FALSE(document.top().member("workflow").has_value());
    CHECK_FALSE(is_wfformat(document.top()));
    CHECK(read_wfformat(document, testing::kOptions, problems).spec.nodes.empty());
    const Error error = std::move(problems).error(document);
    CHECK(places(error) == Texts{""});
    CHECK(holds(error.message, "must be an object, not "));
  }
}

TEST_CASE("parts that are no objects are refused where they stand") {
  const std::string version = R"({"schemaVersion":"1.5","workflow":)";
  for (const std::string other : {"[1]", "[[]]", "7", "\"tasks\"", "null"}) {
    CAPTURE(other);
    CHECK(places(refusal(version + other + "}")).front() == "/workflow");
    CHECK(places(refusal(version + R"({"specification":)" + other + "}}")).front() ==
          "/workflow/specification");
    CHECK(places(refusal(version + R"({"specification":{"tasks":[1]},"execution":)" + other + "}}"))
              .front() == "/workflow/specification/tasks/0");
    CHECK(places(refusal(version + R"({"tasks":[)" + other + "]}}")).front() ==
          "/workflow/tasks/0");
    CHECK(places(refusal(instance(kTasks, other))).back() == "/workflow/execution/tasks/0");
  }
}
