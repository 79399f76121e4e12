// Addresses of servers and values of leases, as text.
#include "persistence/lease_value.hpp"
#include "persistence/percent.hpp"
#include "persistence/redis_url.hpp"
#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>

using namespace stagecall;
using namespace stagecall::testing;

TEST_CASE("an address of a lease server is read in all its parts") {
  const auto whole = parse_redis_url("redis://anna:p%40ss:w@rd/@db.example.org:6380/12");
  REQUIRE(whole);
  CHECK(whole->server.user == "anna");
  CHECK(whole->server.password == "p@ss:w@rd/");
  CHECK(whole->server.host == "db.example.org");
  CHECK(whole->server.port == 6'380);
  CHECK(whole->server.db == 12);
  CHECK_FALSE(whole->is_tls);
  CHECK(whole->server.name() == "db.example.org:6380/12");

  const auto least = parse_redis_url("rediss://[::1]:1");
  REQUIRE(least);
  CHECK(least->is_tls);
  CHECK(least->server.host == "::1");
  CHECK(least->server.password.empty());
  CHECK(least->server.name() == "[::1]:1/0");
  CHECK(parse_redis_url("redis://:only@h:1")->server.password == "only");
}

TEST_CASE("an address that has another form is none, and is shown without its password") {
  for (const char* url :
       {"", "h:1", "http://h:1", "redis:/h:1", "redis://h", "redis://:1", "redis://h:0",
        "redis://h:65536", "redis://h:1x", "redis://h:1/", "redis://h:1/x", "redis://h:1/-1",
        "redis://user@h:1", "redis://u:%zz@h:1", "redis://u:%4@h:1", "redis://[]:1",
        "redis://[::1:1", "redis://a b:1", "redis://a:1,redis://b:1"}) {
    CAPTURE(url);
    CHECK_FALSE(parse_redis_url(url));
  }
  CHECK(without_password("redis://u:se@cret@h:1") == "redis://…@h:1");
  CHECK(without_password("u:secret@h") == "…@h");
  CHECK(without_password("redis://h:1") == "redis://h:1");
}

TEST_CASE("percent encoding keeps all bytes and leaves one printable word") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  const std::string text = percent_encoded(all);
  CHECK(percent_decoded(text) == all);
  CHECK(text.find_first_of(std::string{"\0 \n\x7f\xff", 5}) == std::string::npos);
  CHECK(percent_encoded("a b%") == "a%20b%25");
  CHECK(percent_decoded("%2f") == "/");
  for (const char* bad : {"%", "%4", "%4x", "%-1", "x%"}) {
    CAPTURE(bad);
    CHECK_FALSE(percent_decoded(bad));
  }
}

TEST_CASE("L2: a lease value is read back as it was written, and nothing else is read as one") {
  const ReplicaIdentity holder{
      "a b", "0123", {.host = "h=1", .boot_id = "boot", .pid = 42, .start_time = 18'000'000'000}};
  const std::string text = lease_mark("t 1") + lease_holder_text(holder, wall(1'000));
  CHECK(text ==
        "token=t%201 v=1 replica=a%20b incarnation=0123 host=h=1 boot=boot pid=42 "
        "start=18000000000 since=1970-01-01T00:00:01.000Z");
  const auto value = parse_lease_value(text);
  REQUIRE(value);
  CHECK(value->token == "t 1");
  CHECK(value->holder == holder);
  CHECK(parse_lease_value(text + " later=member")->holder == holder);
  for (const char* bad : {"", " ", "x", "token=t", "incarnation=i", "token=%zz incarnation=i",
                          "token= incarnation=i", "token=t  incarnation=i"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_lease_value(bad));
  }
}
