// An engine on a store of the test's own, and short ways to say what a test wants of it.
#pragma once

#include "stagecall/stagecall.hpp"
#include "tests/support/temp_folder.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::testing {

using namespace std::chrono_literals;

/// What it holds, or a failed test that shows the error.
template <class T>
T value(Result<T> result) {
  if (!result) {
    FAIL(result.error().message);
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

template <class T>
ErrorCode code_of(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

struct EngineFixture {
  TempFolder folder;

  EngineOptions options() const { return {.store = folder / "app.db", .slots = 4}; }
  Engine open() const { return value(Engine::open(options())); }
};

/// `a` → `b` → …, each this task.
inline Pipeline chain_of(const std::string& name, const std::string& task,
                         const std::vector<std::string>& nodes) {
  Pipeline pipeline{name};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto node = pipeline.task(nodes[i], task);
    if (i > 0) {
      node.after({nodes[i - 1]});
    }
  }
  return pipeline;
}

inline Pipeline waiting(const std::string& name) {
  Pipeline pipeline{name};
  pipeline.external("go");
  return pipeline;
}

inline RunState end_of(Engine& engine, const RunId& run) {
  return value(engine.wait(run, 60s)).state;
}

}  // namespace stagecall::testing
