// Reading a text that must be refused, and looking at the refusal.
#pragma once

#include "formats/pipeline_file.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace stagecall::testing {

inline const ReadOptions kOptions{.stem = "stem"};

inline Error refusal(std::string_view text) {
  INFO("text: ", std::string{text.substr(0, 200)});
  auto read = read_pipeline(text, kOptions);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == ErrorCode::invalid_pipeline);
  REQUIRE_FALSE(read.error().problems.empty());
  return read.error();
}

inline std::vector<std::string> places(const Error& error) {
  std::vector<std::string> where;
  for (const Problem& problem : error.problems) {
    where.push_back(problem.where);
  }
  return where;
}

inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A pipeline of one node with these members beside its id.
inline std::string with_node(const std::string& members) {
  return R"({"pipeline":"p","nodes":[{"id":"a",)" + members + "}]}";
}

}  // namespace stagecall::testing
