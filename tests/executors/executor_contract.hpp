// The public contract suite, as an assertion.
#pragma once

#include "stagecall/testing/executor_contract.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

namespace stagecall::testing {

using namespace std::chrono_literals;

inline void check_executor_contract(const ExecutorSubject& subject) {
  CHECK(check_executor(subject) == std::vector<std::string>{});
}

}  // namespace stagecall::testing
