// Waiting for what real processes do: polled, with a bound that only a defect reaches.
#pragma once

#include <chrono>
#include <thread>

namespace stagecall::testing {

template <class Predicate>
bool eventually(Predicate is_true, std::chrono::seconds bound = std::chrono::seconds{30}) {
  const auto give_up_at = std::chrono::steady_clock::now() + bound;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > give_up_at) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

}  // namespace stagecall::testing
