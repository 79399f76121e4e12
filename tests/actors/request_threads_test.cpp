// The threads that make an engine's blocking calls.
#include "actors/request_threads.hpp"

#include "tests/support/eventually.hpp"
#include "tests/support/gate.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace stagecall;
using namespace stagecall::testing;

TEST_CASE("a call that is the last to have its threads takes them along") {
  /// Its members go in reverse order: the token after the threads have gone.
  struct Held {
    std::shared_ptr<int> token = std::make_shared<int>(0);
    std::shared_ptr<RequestThreads> threads = std::make_shared<RequestThreads>(1);
  };
  const auto begun = std::make_shared<Gate>();
  auto held = std::make_shared<Held>();
  const std::weak_ptr<int> token = held->token;
  RequestThreads& threads = *held->threads;
  threads.add([held, begun] { begun->wait(); });
  held.reset();
  begun->open();
  CHECK(eventually([&] { return token.expired(); }));
}
