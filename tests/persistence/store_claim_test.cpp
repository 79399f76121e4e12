// Who keeps a store's leases: engines that have it open agree, and each has its own name.
#include "persistence/store_claim.hpp"

#include "persistence/sqlite_store.hpp"
#include "tests/persistence/redis_fixtures.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <optional>
#include <thread>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

const std::string kOneServer = "redis 127.0.0.1:6379/0 under stagecall:{s}:";
const std::string kOtherDatabase = "redis 127.0.0.1:6379/1 under stagecall:{s}:";

struct ClaimedStore {
  TempFolder folder;
  std::string path = folder / "store.db";

  ClaimedStore() { REQUIRE(open_sqlite_store({.path = path})); }

  Result<StoreClaim> claim(const std::string& authority, const std::string& replica = {}) const {
    return claim_store({.store_path = path, .authority = authority, .replica = replica});
  }
  std::string recorded() const {
    return open_sqlite_store({.path = path}).value()->lease_authority();
  }
};

}  // namespace

TEST_CASE("T9: a second engine that names another lease authority is refused, both named") {
  const ClaimedStore store;
  const auto first = store.claim(kOneServer);
  REQUIRE(first);
  for (const std::string& other : {kOtherDatabase, std::string{kLeaseFileAuthority}}) {
    const auto second = store.claim(other);
    CHECK(code_of(second) == "lease_authority");
    CHECK(contains(second.error().message, kOneServer));
    CHECK(contains(second.error().message,
                   other == kLeaseFileAuthority ? "the file beside it" : other));
  }
  CHECK(store.claim(kOneServer));
  CHECK(store.recorded() == kOneServer);
}

TEST_CASE("T9: a store moves to Redis and back once no other engine has it open") {
  const ClaimedStore store;
  CHECK(store.recorded() == kLeaseFileAuthority);
  for (const std::string& authority :
       {kOneServer, kOtherDatabase, std::string{kLeaseFileAuthority}}) {
    const auto first = store.claim(authority);
    REQUIRE(first);
    CHECK(store.recorded() == authority);
    CHECK(store.claim(authority));
  }
}

TEST_CASE(
    "T9: of engines that come at once all have a claim if they agree, else those of one side") {
  for (const bool do_agree : {true, false}) {
    CAPTURE(do_agree);
    for (int round = 0; round < 5; ++round) {
      const ClaimedStore store;
      std::vector<std::optional<Result<StoreClaim>>> claims(8);
      {
        std::vector<std::jthread> engines;
        for (std::size_t i = 0; i < claims.size(); ++i) {
          engines.emplace_back([&, i] {
            claims[i].emplace(store.claim(do_agree || i % 2 == 0 ? kOneServer : kOtherDatabase));
          });
        }
      }
      std::size_t even = 0;
      std::size_t odd = 0;
      for (std::size_t i = 0; i < claims.size(); ++i) {
        (i % 2 == 0 ? even : odd) += claims[i]->has_value() ? 1U : 0U;
        CHECK((claims[i]->has_value() || code_of(*claims[i]) == "lease_authority"));
      }
      CHECK(even + odd == (do_agree ? 8 : 4));
      CHECK((do_agree || even == 0 || odd == 0));
      CHECK(store.recorded() == (even > 0 ? kOneServer : kOtherDatabase));
    }
  }
}

TEST_CASE("T9: a replica's name that another has at this store is refused, with who has it") {
  const ClaimedStore store;
  {
    const auto first = store.claim(kLeaseFileAuthority, "a/b");
    REQUIRE(first);
    const auto second = store.claim(kLeaseFileAuthority, "a/b");
    CHECK(code_of(second) == "invalid_argument");
    CHECK(contains(second.error().message, "\"a/b\""));
    CHECK(contains(second.error().message, "process " + std::to_string(::getpid()) + " has"));
    CHECK(store.claim(kLeaseFileAuthority, "b"));
    const ClaimedStore elsewhere;
    CHECK(elsewhere.claim(kLeaseFileAuthority, "a/b"));
  }
  CHECK(store.claim(kLeaseFileAuthority, "a/b"));
}

TEST_CASE("a lease authority names servers and prefix in one way, and no password") {
  const RedisServer one{.host = "h", .port = 1, .user = "u", .password = "secret"};
  const RedisServer two{.host = "h", .port = 2};
  const RedisServer three{.host = "g", .port = 3, .db = 4};
  CHECK(lease_authority_of({}, "s") == kLeaseFileAuthority);
  CHECK(lease_authority_of({one}, "s") == "redis h:1/0 under stagecall:{s}:");
  CHECK(lease_authority_of({one, two, three}, "s") ==
        "redis g:3/4 h:1/0 h:2/0 under stagecall:{s}:");
  CHECK(lease_authority_of({three, two, one}, "s") == lease_authority_of({one, two, three}, "s"));
}
