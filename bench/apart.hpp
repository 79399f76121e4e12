// Measures in a process of its own: memory and threads of what was measured before do not count.
#pragma once

#include "bench/catalogue.hpp"

#include <functional>
#include <memory>

namespace stagecall::bench {

/// What the case gives, called in a child process and a folder that goes with it. Only while this
/// process has one thread.
Measurements measure_apart(const Case& measure);

/// Calls it in a child process, which then ends as by kill -9: what the action returns is neither
/// closed nor given back. Only while this process has one thread.
Result<void> do_and_die(const std::function<Result<std::shared_ptr<void>>()>& action);

}  // namespace stagecall::bench
