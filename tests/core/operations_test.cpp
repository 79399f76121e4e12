// docs/OPERATIONS.md names every error code and every reason of `explain`, and no other.
#include "stagecall/error.hpp"
#include "stagecall/run.hpp"
#include "tests/support/paths.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

using namespace stagecall;

namespace {

using Names = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file{testing::source_folder() + "/" + path};
  REQUIRE_MESSAGE(file.is_open(), path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The first match of each line from behind `begin` up to `end`.
Names matches(const std::string& path, const std::string& begin, const std::string& end,
              const std::regex& pattern) {
  Names names;
  bool is_within = false;
  for (const std::string& line : lines_of(path)) {
    if (!is_within) {
      is_within = line.starts_with(begin);
    } else if (line.starts_with(end)) {
      break;
    } else if (std::smatch match; std::regex_search(line, match, pattern)) {
      names.push_back(match[1]);
    }
  }
  return names;
}

Names enumerators(const std::string& header, const std::string& name) {
  return matches(header, "enum class " + name + " ", "};", std::regex{R"(^  ([a-z_]+),)"});
}

/// The first column of the table under a heading.
Names documented(const std::string& heading) {
  return matches("docs/OPERATIONS.md", heading, "## ", std::regex{R"(^\| `([a-z_]+)` +\|)"});
}

template <class Enum>
Names told_names(std::size_t count) {
  Names names;
  for (std::size_t i = 0; i < count; ++i) {
    names.emplace_back(name_of(static_cast<Enum>(i)));
  }
  return names;
}

}  // namespace

TEST_CASE("the manual lists every error code with what to do, in the order of the header") {
  const Names codes = enumerators("include/stagecall/error.hpp", "ErrorCode");
  REQUIRE(codes.size() > 10);
  CHECK(documented("## Errors") == codes);
  CHECK(told_names<ErrorCode>(codes.size()) == codes);
}

TEST_CASE("the manual lists every reason of explain with what to do, in the order of the header") {
  const Names reasons = enumerators("include/stagecall/run.hpp", "WaitReason");
  REQUIRE(reasons.size() > 5);
  CHECK(documented("## Why does it not run?") == reasons);
  CHECK(told_names<WaitReason>(reasons.size()) == reasons);
}
