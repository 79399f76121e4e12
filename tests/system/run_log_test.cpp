// The judge itself: what it must not let pass.
#include "tests/system/run_log.hpp"

#include <doctest/doctest.h>

namespace stagecall::testing {
namespace {

const Dependencies kPair{{"a", {}}, {"b", {"a"}}};

TEST_CASE("the run log shows a second start and a start before its time") {
  const LogLine a_starts{"start", "p/1/a/1@0a"};
  const LogLine a_ends{"end", "p/1/a/1@0a"};
  const LogLine b_starts{"start", "p/1/b/2@0b"};
  CHECK(b_starts.node() == "b");
  CHECK(b_starts.attempt() == "2");
  CHECK(faults_of({a_starts, a_ends, b_starts}, kPair).empty());
  CHECK(faults_of({a_starts, a_starts, a_ends, b_starts}, kPair).size() == 1);
  CHECK(faults_of({a_starts, b_starts, a_ends}, kPair).size() == 1);
}

TEST_CASE("history shows what was submitted before its time, twice, or after its success") {
  const auto submitted = [](const std::string& node, int attempt) {
    return nlohmann::json{{"kind", "attempt_submitted"}, {"node", node}, {"attempt", attempt}};
  };
  const auto ended = [](const std::string& node, const std::string& outcome) {
    return nlohmann::json{{"kind", "attempt_ended"}, {"node", node}, {"outcome", outcome}};
  };
  const auto a_fails = ended("a", "failed");
  const auto a_succeeds = ended("a", "succeeded");
  const auto faults = [](const std::vector<nlohmann::json>& history) {
    return faults_of_history(history, kPair).size();
  };
  CHECK(faults({submitted("a", 1), a_fails, submitted("a", 2), a_succeeds, submitted("b", 1)}) ==
        0);
  CHECK(faults({submitted("a", 1), submitted("a", 1), a_succeeds}) == 1);
  CHECK(faults({submitted("a", 1), a_succeeds, submitted("a", 2)}) == 1);
  CHECK(faults({submitted("a", 1), a_succeeds, a_succeeds}) == 1);
  CHECK(faults({submitted("a", 1), a_fails, submitted("b", 1)}) == 1);
}

}  // namespace
}  // namespace stagecall::testing
