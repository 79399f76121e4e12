#include "formats/json_reader.hpp"

#include "formats/json_text.hpp"
#include "tests/formats/refusals.hpp"
#include "tests/support/small_stack.hpp"

#include <string>
#include <vector>

using namespace stagecall;
using testing::holds;
using testing::places;
using Texts = std::vector<std::string>;

namespace {

Error refused(std::string_view text) {
  JsonDocument document;
  ProblemList problems;
  read_json(text, document, problems);
  REQUIRE_FALSE(problems.is_empty());
  return std::move(problems).error(document);
}

std::string compact(std::string_view text) {
  JsonDocument document;
  ProblemList problems;
  REQUIRE(read_json(text, document, problems));
  REQUIRE(problems.is_empty());
  return json_text(document.top());
}

std::string nested(const std::string& open, std::size_t levels, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) {
    text += open;
  }
  for (std::size_t i = 0; i < levels; ++i) {
    text += close;
  }
  return text;
}

}  // namespace

TEST_CASE("JSON comes back compact, members in order, numbers as written") {
  CHECK(compact(" \r\n\t{ } ") == "{}");
  CHECK(compact(R"({"z":[1, -2 ,{}],"a":[],"t":[true,false,null]})") ==
        R"({"z":[1,-2,{}],"a":[],"t":[true,false,null]})");
  CHECK(compact(R"([1.50,1e3,18446744073709551615,99999999999999999999,-9223372036854775808])") ==
        R"([1.50,1e3,18446744073709551615,99999999999999999999,-9223372036854775808])");
  CHECK(compact(R"(["\u00e9\ud83d\ude80\/\"\\\u0001\n"])") ==
        "[\"é\U0001f680/\\\"\\\\\\u0001\\n\"]");
}

TEST_CASE("pointers are escaped, and found again") {
  JsonDocument document;
  ProblemList problems;
  REQUIRE(read_json(R"({"a/b":{"m~n":[10,[20]]},"":30})", document, problems));
  for (const std::string pointer : {"", "/a~1b/m~0n", "/a~1b/m~0n/1/0", "/"}) {
    const auto value = document.find(pointer);
    REQUIRE(value.has_value());
    CHECK(document.pointer(value->position()) == pointer);
  }
  CHECK(document.find("/a~1b/m~0n/1/0")->integer() == 20);
  for (const std::string pointer : {"/b", "/a~1b/m~0n/2", "/a~1b/m~0n/x", "//0", "/a~1b/m~0n/"}) {
    CAPTURE(pointer);
    CHECK_FALSE(document.find(pointer).has_value());
  }
}

TEST_CASE("ill-formed JSON is told by the byte where it goes wrong, counted from 0") {
  const auto byte = [](std::string_view text) { return refused(text).problems.front().where; };
  CHECK(byte("") == "byte 0");
  CHECK(byte("   ") == "byte 3");
  CHECK(byte("{\"a\":1,}") == "byte 7");
  CHECK(byte("[1,2") == "byte 4");
  CHECK(byte("[\"abc") == "byte 5");
  CHECK(byte("[nul]") == "byte 4");
  CHECK(byte("[NaN]") == "byte 1");
  CHECK(byte("[01]") == "byte 2");
  CHECK(byte("[1 234 ]") == "byte 3");
  CHECK(byte("{\"a\" \"abc\"}") == "byte 5");
  CHECK(byte("[+1]") == "byte 1");
  CHECK(byte("[1] /* no */") == "byte 4");
  CHECK(byte("{} {}") == "byte 3");
  CHECK(byte("[1]x") == "byte 3");
  CHECK(byte(std::string_view{"[1]\0", 4}) == "byte 3");
  CHECK(byte(std::string_view{"[1,\0]", 5}) == "byte 3");
  CHECK(byte("[\"a\nb\"]") == "byte 3");
  CHECK(byte("\xEF\xBB\xBF{}") == "byte 0");
  CHECK(byte("[\"a\xC0\x80\"]") == "byte 3");
  CHECK(byte("[\"\xED\xA0\x80\"]") == "byte 2");
  CHECK(byte("\xff") == "byte 0");
}

TEST_CASE("lone surrogates are refused, pairs are read") {
  for (const std::string text : {R"(["\ud800"])", R"(["\udc00"])", R"(["\ud800x"])",
                                 R"(["\ud800\ud800"])", R"(["\udc00\ud800"])"}) {
    CAPTURE(text);
    CHECK(holds(refused(text).message, "surrogate"));
  }
  CHECK(compact(R"(["\ud83d\ude80"])") == "[\"\U0001f680\"]");
}

TEST_CASE("a repeated member is refused at every level, wherever it stands") {
  const Error error = refused(R"({"b":{"x":1,"y":2,"x":3},"a":1,"c":[{"k":{},"k":{}}],"a":2})");
  CHECK(places(error) == Texts{"/b/x", "/c/0/k", "/a"});
  CHECK(holds(error.problems[0].message, "\"x\" is repeated"));
}

TEST_CASE("repeated names told by escapes are the same name") {
  CHECK(holds(refused(R"({"a":1,"\u0061":2})").message, "\"a\" is repeated"));
}

TEST_CASE("a number that no double can hold is refused by its pointer") {
  const Error error = refused(R"({"a":[1,{"b":1e400}]})");
  CHECK(places(error) == Texts{"/a/1/b"});
  CHECK(error.problems[0].value == "1e400");
}

TEST_CASE("64 levels are read, 65 are refused, neither these nor a million need a deep stack") {
  testing::on_small_stack([] {
    CHECK(compact(nested("[", 64, "]")).size() == 128);
    const std::string object = R"({"a":)";
    for (const Error& error :
         {refused(nested("[", 65, "]")), refused(nested("[", 1'000'000, "]")),
          refused(nested(object, 1'000'000, "}")), refused(nested(R"([{"a":)", 33, "}]"))}) {
      CHECK(error.problems.size() == 1);
      CHECK(holds(error.problems[0].message, "64"));
      CHECK(error.problems[0].where.size() <= 128);
    }
  });
}

TEST_CASE("a refusal of a huge token is short") {
  const std::string huge(10'000'000, 'x');
  for (const std::string& text : {"[" + huge, "[\"" + huge, "{\"a\":1,\"" + huge + "\":}",
                                  "[]" + huge, "[\"" + huge + "\" 1]", "{\"" + huge + "\":1e999}",
                                  "{\"" + huge + "\":1,\"" + huge + "\":1}"}) {
    const Error error = refused(text);
    CHECK(error.message.size() < 1'000);
    CHECK(error.problems.size() == 1);
    CHECK(error.problems[0].where.size() < 200);
    CHECK(error.problems[0].value.size() <= 80);
    CHECK(error.problems[0].message.size() < 500);
  }
}

TEST_CASE("many repeated members cost one pass, the first 20 are told") {
  std::string text = "{\"x\":0";
  for (int i = 0; i < 100'000; ++i) {
    text += ",\"x\":1";
  }
  CHECK(refused(text + "}").problems.size() == 20);
}
