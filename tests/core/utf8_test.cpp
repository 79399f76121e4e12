#include "core/utf8.hpp"

#include "core/refusal.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stagecall;

TEST_CASE("well-formed UTF-8 of every length passes") {
  CHECK_FALSE(find_invalid_utf8(""));
  CHECK_FALSE(find_invalid_utf8("plain text that is longer than one word"));
  CHECK_FALSE(find_invalid_utf8("\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEF\xBF\xBF"));
  CHECK_FALSE(find_invalid_utf8("\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"));
}

TEST_CASE("the first byte of an ill-formed sequence is told") {
  const auto offset = [](const std::string& bad) {
    return find_invalid_utf8("0123456789é" + bad).value_or(0);
  };
  for (const std::string bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                                "\xE2\x82", "\xE2\x28\xA1", "\xC3", "\xF0\x9F\x9A"}) {
    CAPTURE(bad.size());
    CHECK(offset(bad) == 12);
    CHECK(offset(bad + " and more behind it") == 12);
  }
}

TEST_CASE("a cut never splits a character") {
  CHECK(cut_utf8("aé", 3) == "aé");
  CHECK(cut_utf8("aé", 2) == "a");
  CHECK(cut_utf8("\U0001f680", 3) == "");
}

TEST_CASE("an excerpt has at most 80 bytes of valid UTF-8") {
  CHECK(excerpt("short") == "short");
  CHECK(excerpt(std::string(79, 'x') + "é") == std::string(79, 'x'));
  CHECK(excerpt("a\xffz") == "a\xEF\xBF\xBDz");
  const std::string worst = excerpt(std::string(1'000, '\xff'));
  CHECK(worst.size() == 78);
  CHECK_FALSE(find_invalid_utf8(worst));
  CHECK(quoted(std::string(81, 'x')) == '"' + std::string(80, 'x') + "\"…");
}
