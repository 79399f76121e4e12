#include "persistence/memory_store.hpp"

#include "tests/persistence/fixtures.hpp"
#include "tests/persistence/store_contract.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

Connect connect_in_memory() {
  return [content = make_memory_store_content()] { return open_memory_store(content); };
}

}  // namespace

TEST_CASE("store contract in memory: starts") {
  check_starts(connect_in_memory());
}
TEST_CASE("store contract in memory: request ids of starts") {
  check_start_requests(connect_in_memory());
}
TEST_CASE("store contract in memory: terms and the fence") {
  check_terms_and_fence(connect_in_memory());
}
TEST_CASE("store contract in memory: history") {
  check_history(connect_in_memory());
}
TEST_CASE("store contract in memory: inbox") {
  check_inbox(connect_in_memory());
}
TEST_CASE("store contract in memory: what only one may wait of") {
  check_inbox_subjects(connect_in_memory());
}
TEST_CASE("store contract in memory: outputs") {
  check_outputs(connect_in_memory());
}
TEST_CASE("R18: a rerun takes outputs along, in memory") {
  check_carried_outputs(connect_in_memory());
}
TEST_CASE("T6: ended runs are removed whole and their iterations never used again, in memory") {
  check_prune(connect_in_memory());
}
TEST_CASE("T14: leftovers stay listed until they are confirmed, in memory") {
  check_leftovers(connect_in_memory());
}
TEST_CASE("store contract in memory: batches") {
  check_batches(connect_in_memory());
}
TEST_CASE("store contract in memory: lookups") {
  check_lookups(connect_in_memory());
}
TEST_CASE("store contract in memory: data version") {
  check_data_version(connect_in_memory());
}
TEST_CASE("R3: 20 threads on each of two connections in memory start one pipeline: one row") {
  check_parallel_starts(connect_in_memory());
}
TEST_CASE("S1: two writers and a reader at once lose nothing, in memory") {
  check_parallel_appends(connect_in_memory());
}
TEST_CASE("R4: of many stops on as many connections in memory one is stored") {
  check_parallel_stops(connect_in_memory());
}

TEST_CASE("a store in memory lasts as long as a connection, another content is another store") {
  auto content = make_memory_store_content("of a host");
  const auto store = open_memory_store(std::move(content));
  started(*store, start_of("p"));
  CHECK(store->lease_authority() == "of a host");
  const auto other = connect_in_memory()();
  CHECK(other->runs().value().empty());
  CHECK(other->store_id() != store->store_id());
  CHECK(store->runs().value().size() == 1);
}
