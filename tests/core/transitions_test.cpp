#include "core/transitions.hpp"

#include "tests/support/paths.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecall {
namespace {

constexpr std::size_t kSignals = 13;

/// Per state, what each signal leads to, in the order of NodeSignal:
/// turn open pass_through skip submit run lose_sight find back_off again succeed fail stop.
/// A letter is a state (b r s R k u = open ones, S F K X = succeeded, failed, skipped, stopped), a
/// dot an illegal pair.
const std::map<NodeState, std::string> kExpected = {
    {NodeState::blocked, "rRSK......SFX"},   {NodeState::ready, "....s.....SFX"},
    {NodeState::submitted, ".....Ru.krSFX"}, {NodeState::running, "......u.krSFX"},
    {NodeState::backoff, ".R.......rSFX"},   {NodeState::unreachable, ".....R.skrSFX"},
    {NodeState::succeeded, "............."}, {NodeState::failed, "............."},
    {NodeState::skipped, "............."},   {NodeState::stopped, "............."},
};

char letter(std::optional<NodeState> state) {
  return state ? "brsRkuSFKX"[static_cast<std::size_t>(*state)] : '.';
}

}  // namespace

TEST_CASE("each pair of state and signal leads where the rules say") {
  REQUIRE(kExpected.size() == kNodeStateCount);
  for (const auto& [state, expected] : kExpected) {
    std::string actual;
    for (std::size_t i = 0; i < kSignals; ++i) {
      actual += letter(next_state(state, static_cast<NodeSignal>(i)));
    }
    CAPTURE(name_of(state));
    CHECK(actual == expected);
  }
}

TEST_CASE("the list of transitions is the table: each pair once, no other") {
  std::map<std::pair<NodeState, NodeSignal>, NodeState> listed;
  for (const Transition& row : transitions()) {
    CHECK(listed.emplace(std::pair{row.from, row.signal}, row.to).second);
    CHECK_FALSE(is_terminal(row.from));
  }
  std::size_t legal = 0;
  for (std::size_t from = 0; from < kNodeStateCount; ++from) {
    for (std::size_t signal = 0; signal < kSignals; ++signal) {
      const auto state = static_cast<NodeState>(from);
      const auto to = next_state(state, static_cast<NodeSignal>(signal));
      if (to) {
        ++legal;
        CHECK(listed.at({state, static_cast<NodeSignal>(signal)}) == *to);
      }
    }
  }
  CHECK(legal == listed.size());
}

TEST_CASE("docs/STATES.md shows the table, row by row, and nothing else") {
  std::ifstream file{testing::source_folder() + "/docs/STATES.md"};
  std::vector<std::string> shown;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    in_table = in_table || line == "| from | signal | to |";
    if (in_table && line.starts_with("| ") && line.find("---") == std::string::npos) {
      shown.push_back(line);
    }
  }
  std::vector<std::string> expected{"| from | signal | to |"};
  for (const Transition& row : transitions()) {
    expected.push_back("| " + std::string{name_of(row.from)} + " | " +
                       std::string{name_of(row.signal)} + " | " + std::string{name_of(row.to)} +
                       " |");
  }
  CHECK(shown == expected);
}

}  // namespace stagecall
