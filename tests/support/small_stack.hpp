// Runs something on a stack of 1 MiB: what recurses with its input does not come back.
#pragma once

#include <pthread.h>

#include <functional>
#include <stdexcept>

namespace stagecall::testing {

inline void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 20);
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  pthread_t thread{};
  const int failure = pthread_create(&thread, &attributes, run, &body);
  pthread_attr_destroy(&attributes);
  if (failure != 0) {
    throw std::runtime_error{"cannot start a thread with a small stack"};
  }
  pthread_join(thread, nullptr);
}

}  // namespace stagecall::testing
