#include "formats/held_text.hpp"

#include "messages/limits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace stagecall;

namespace {

HeldView full_view() {
  return {.run = {"nightly \"x\"/\u00e4", 7},
          .term = Term{3},
          .replica = "host-1",
          .parked = "its lease is not trusted",
          .is_draining = true,
          .lease_left = Duration{-12},
          .slots_free = 5,
          .slots_contended = true,
          .progress = {{"a", Attempt{1}, 0.5}, {"b/c", Attempt{4'294'967'295U}, 1}}};
}

/// The text with one piece of it replaced.
std::string changed(const std::string& piece, const std::string& by) {
  std::string text = held_text(full_view());
  const auto at = text.find(piece);
  REQUIRE_MESSAGE(at != std::string::npos, piece);
  return text.replace(at, piece.size(), by);
}

bool is_sound(const HeldView& view) {
  return view.run.iteration > 0 && view.slots_free <= kLimits.slots_max &&
         view.progress.size() <= kLimits.nodes_listed_max &&
         std::all_of(view.progress.begin(), view.progress.end(), [](const NodeProgress& node) {
           return node.fraction >= 0 && node.fraction <= 1 && node.attempt.value > 0;
         });
}

}  // namespace

TEST_CASE("what a holder tells reads back as it was") {
  CHECK(read_held(held_text(full_view())) == full_view());
  const HeldView least{.run = {"p", 1}};
  CHECK(read_held(held_text(least)) == least);
}

TEST_CASE("what a holder tells names each fact") {
  CHECK(held_text({.run = {"p", 1},
                   .term = Term{2},
                   .replica = "r",
                   .lease_left = Duration{900},
                   .slots_free = 1,
                   .progress = {{"a", Attempt{1}, 0.25}}}) ==
        R"({"run":"p/1","term":2,"replica":"r","draining":false,"lease_left_ms":900,)"
        R"("slots_free":1,"slots_contended":false,)"
        R"("progress":[{"node":"a","attempt":1,"fraction":0.25}]})");
}

TEST_CASE("a holder's words with unknown members are read, for it may be of a later release") {
  CHECK(read_held(changed("{\"run\"", "{\"mood\":[{}],\"run\"")) == full_view());
}

TEST_CASE("a holder's words that lack a member or have one out of its range are none") {
  for (const auto& [piece, by] : std::vector<std::pair<std::string, std::string>>{
           {"\"run\"", "\"ran\""},
           {"/7\"", "/0\""},
           {"/7\"", "\""},
           {"\"term\":3", "\"term\":-3"},
           {"\"term\":3", "\"term\":3.5"},
           {"\"replica\":\"host-1\"", "\"replica\":1"},
           {"\"draining\":true", "\"draining\":1"},
           {"\"draining\":true,", ""},
           {"\"lease_left_ms\":-12", "\"lease_left_ms\":9223372036854775807"},
           {"\"slots_free\":5", "\"slots_free\":100001"},
           {"\"slots_free\":5", "\"slots_free\":-1"},
           {"\"attempt\":1", "\"attempt\":0"},
           {"\"attempt\":1", "\"attempt\":4294967296"},
           {"0.5", "1.5"},
           {"0.5", "-0.5"},
           {"0.5", "1e999"},
           {"0.5", "null"},
           {"[{\"node\"", "[7,{\"node\""},
           {"\"progress\":[", "\"progress\":{},\"x\":["}}) {
    CAPTURE(piece);
    CAPTURE(by);
    CHECK(read_held(changed(piece, by)) == std::nullopt);
  }
  for (const char* text : {"", " ", "7", "[]", "{}", "null", "\xff", "{\"run\":\"p/1\"}"}) {
    CAPTURE(text);
    CHECK(read_held(text) == std::nullopt);
  }
}

TEST_CASE("a holder that names more nodes than a status does is not believed") {
  HeldView view = full_view();
  view.progress.assign(kLimits.nodes_listed_max, {"a", Attempt{1}, 0.5});
  CHECK(read_held(held_text(view)) == view);
  view.progress.push_back({"a", Attempt{1}, 0.5});
  CHECK(read_held(held_text(view)) == std::nullopt);
}

TEST_CASE(
    "a holder's words cut off anywhere are none, and any changed byte gives none or sound ones") {
  const std::string whole = held_text(full_view());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(read_held(std::string_view{whole}.substr(0, size)) == std::nullopt);
  }
  int read = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '"', '\\', '{', '}', '9', '-', 'e', '\x80', '\xff'}) {
      std::string text = whole;
      text[at] = byte;
      if (const auto view = read_held(text)) {
        ++read;
        CHECK(is_sound(*view));
      }
    }
  }
  CHECK(read > 0);
}
