#include "tests/cli/cli_fixture.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

constexpr const char* kJoin = R"({"pipeline":"p","nodes":[{"id":"a"}]})";

struct RangeCase {
  const char* option;
  const char* value;
  const char* allowed;
};

TEST_CASE_FIXTURE(CliFixture, "a value outside its range is refused before anything is opened") {
  const RangeCase cases[] = {
      {"slots", "0", "from 1 to 100,000"},
      {"slots", "100001", "from 1 to 100,000"},
      {"slots", "4x", "from 1 to 100,000"},
      {"tick", "49ms", "from 50ms to 1h"},
      {"tick", "1h1ms", "from 50ms to 1h"},
      {"tick", "5", "from 50ms to 1h"},
      {"lease-ttl", "999ms", "from 1s to 10m"},
      {"lease-ttl", "11m", "from 1s to 10m"},
      {"drain-grace", "87601h", "ten years"},
      {"durability", "most", "full or normal"},
      {"speedup", "0", "greater than 0"},
      {"speedup", "nan", "greater than 0"},
      {"log-level", "loud", "trace, debug"},
      {"replica", "a\nb", "without control characters"},
      {"leases", "redis:/host:1", "redis://"},
      {"leases", "redis://host:70000", "redis://"},
      {"leases", "redis://host:6379,redis://other:6379", "redis://"},
  };
  for (const RangeCase& one : cases) {
    CAPTURE(one.option);
    CAPTURE(one.value);
    const ChildEnd end =
        call({"run", path("missing.json"), std::string{"--"} + one.option, one.value});
    CHECK(end.exit_code == 2);
    CHECK(contains(end.err, std::string{"--"} + one.option));
    CHECK(contains(end.err, one.allowed));
    CHECK(end.out.empty());
    CHECK_FALSE(has_store());
  }
}

TEST_CASE_FIXTURE(CliFixture, "the ends of a range are allowed") {
  const std::string pipeline = file("p.json", kJoin);
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--slots", "1"},
                                                        {"--slots", "100000"},
                                                        {"--tick", "50ms"},
                                                        {"--tick", "1h"},
                                                        {"--lease-ttl", "1s"},
                                                        {"--lease-ttl", "10m"},
                                                        {"--drain-grace", "0s"},
                                                        {"--drain-grace", "87600h"},
                                                        {"--durability", "normal"},
                                                        {"--speedup", "0.5"},
                                                        {"--log-level", "off"}}) {
    CAPTURE(option);
    CAPTURE(value);
    CHECK(call({"validate", option, value, pipeline}).exit_code == 0);
  }
}

TEST_CASE_FIXTURE(CliFixture, "flags win over the environment, and that over the settings file") {
  const std::string pipeline = file("p.json", kJoin);
  file("config/stagecall/config.toml", "log_level = \"wrong\"\n");
  ChildEnd end = call({"validate", pipeline});
  CHECK(end.exit_code == 2);
  CHECK(contains(end.err, "\"log_level\" in " + path("config/stagecall/config.toml")));

  file("config/stagecall/config.toml", "store = \"" + path("from_file.db") + "\"\nslots = 2\n");
  CHECK(call({"start", pipeline}).exit_code == 0);
  CHECK(std::filesystem::exists(path("from_file.db")));
  set("STAGECALL_STORE", path("from_environment.db"));
  CHECK(call({"start", pipeline}).exit_code == 0);
  CHECK(std::filesystem::exists(path("from_environment.db")));
  CHECK(call({"start", pipeline, "--store", path("from_flag.db")}).exit_code == 0);
  CHECK(std::filesystem::exists(path("from_flag.db")));
}

TEST_CASE_FIXTURE(CliFixture, "the environment's values are checked and the variable is named") {
  const std::string pipeline = file("p.json", kJoin);
  set("STAGECALL_LEASE_TTL", "1ms");
  const ChildEnd end = call({"validate", pipeline});
  CHECK(end.exit_code == 2);
  CHECK(contains(end.err, "STAGECALL_LEASE_TTL"));
  CHECK(contains(end.err, "1ms"));
}

TEST_CASE_FIXTURE(CliFixture, "a settings file is refused for what it should not hold") {
  const std::string pipeline = file("p.json", kJoin);
  for (const auto& [content, name] : std::vector<std::pair<std::string, std::string>>{
           {"tikc = \"5s\"", "tikc"},
           {"tick = [\"5s\"]", "tick"},
           {"lease-ttl = \"5s\"\nlease_ttl = \"5s\"", "twice"},
           {"slots = 0", "slots"},
           {"not toml", "line 1"}}) {
    CAPTURE(content);
    const std::string settings = file("settings.toml", content);
    const ChildEnd end = call({"validate", pipeline, "--config", settings});
    CHECK(end.exit_code == 2);
    CHECK(contains(end.err, name));
    CHECK(contains(end.err, settings));
  }
  CHECK(call({"validate", pipeline, "--config", path("none.toml")}).exit_code == 2);
}

TEST_CASE_FIXTURE(CliFixture, "options stand anywhere after the command and -- ends them") {
  const std::string pipeline = file("p.json", kJoin);
  CHECK(call({"validate", "--slots", "2", pipeline}).exit_code == 0);
  CHECK(call({"validate", pipeline, "--slots=2"}).exit_code == 0);
  file("-odd.json", kJoin);
  CHECK(call({"validate", "--", path("-odd.json")}).exit_code == 0);
  const ChildEnd end = call({"status", "--json", "--", "--json"});
  CHECK(end.exit_code == 2);
  CHECK(contains(end.out, "not_found"));
  // A command's name may be a pipeline's.
  file("run.json", R"({"pipeline":"stop","nodes":[{"id":"a"}]})");
  CHECK(call({"run", path("run.json"), "--quiet"}).exit_code == 0);
  CHECK(call_json({"status", "stop"}, 0)["pipeline"] == "stop");
}

TEST_CASE_FIXTURE(CliFixture, "usage errors end with 2 and say what is wrong") {
  const std::string pipeline = file("p.json", kJoin);
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {},
           {"frobnicate"},
           {"run"},
           {"start"},
           {"run", pipeline, pipeline},
           {"validate", pipeline, "--nope"},
           {"validate", pipeline, "--tick", "5s", "--tick", "5s"},
           {"validate", pipeline, "--slots"},
           {"validate", pipeline, "--json=x"},
           {"run", pipeline, "--leases", "redis://a:1", "redis://b:2"},
           {"node-done", "p", "a"},
           {"node-done", "p", "a", "--outcome", "maybe"},
           {"node-done", "p", "a", "--outcome", "failed", "--force"},
           {"node-done", "p", "a", "--outcome", "failed", "--reason", "x"},
           {"node-done", "p", "a", "--outcome", "failed", "--output", "{"},
           {"node-done", "p", "a", "--outcome", "failed", "--attempt", "0"},
           {"logs", "p", "a", "--attempt", "-1"}}) {
    CAPTURE(arguments.size());
    const ChildEnd end = call(arguments);
    CAPTURE(end.err);
    CHECK(end.exit_code == 2);
    CHECK_FALSE(end.err.empty());
    CHECK(end.out.empty());
  }
  CHECK_FALSE(has_store());
}

TEST_CASE_FIXTURE(CliFixture, "help and version are answers") {
  CHECK(call({"--version"}).out == "stagecall 0.1.0\n");
  CHECK(call({"--help"}).exit_code == 0);
  CHECK(contains(call({"--help"}).out, "node-done"));
  const ChildEnd end = call({"run", "--help"});
  CHECK(end.exit_code == 0);
  CHECK(contains(end.out, "--lease-ttl"));
}

TEST_CASE_FIXTURE(CliFixture, "what this release does not have is refused, not ignored") {
  const std::string pipeline = file("p.json", kJoin);
  CHECK(call_json({"run", pipeline, "--leases", "rediss://h:1/0"}, 4)["error"]["code"] ==
        "unsupported");
  CHECK_FALSE(has_store());
}

TEST_CASE_FIXTURE(CliFixture,
                  "X8: lease servers that are no quorum are refused, without password") {
  const std::string pipeline = file("p.json", kJoin);
  const std::string first = "redis://u:secret@h:1";
  const std::string second = "redis://u:secret@h:2";
  for (const auto& [servers, allowed] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{first, second}, "an odd number"},
           {{first, second, first}, "once"},
           {{"redis://u:secret@h:0"}, "redis://"},
           {{"rediss://u:secret@h:1"}, "no TLS"}}) {
    std::vector<std::string> arguments{"run", pipeline};
    for (const std::string& server : servers) {
      arguments.insert(arguments.end(), {"--leases", server});
    }
    const ChildEnd end = call(arguments);
    CAPTURE(end.err);
    CHECK((end.exit_code == 2 || end.exit_code == 4));
    CHECK(contains(end.err, allowed));
    CHECK_FALSE(contains(end.err, "secret"));
  }
  CHECK_FALSE(has_store());
}

}  // namespace
}  // namespace stagecall::testing
