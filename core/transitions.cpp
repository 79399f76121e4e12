#include "core/transitions.hpp"

#include <array>

namespace stagecall {
namespace {

using S = NodeState;
using N = NodeSignal;

// from, signal, to. A terminal state has no row: nothing leads out of it.
constexpr auto kTransitions = std::to_array<Transition>({
    {S::blocked, N::turn, S::ready},
    {S::blocked, N::open, S::running},
    {S::blocked, N::pass_through, S::succeeded},
    {S::blocked, N::skip, S::skipped},
    {S::blocked, N::stop, S::stopped},
    {S::blocked, N::succeed, S::succeeded},  // forced
    {S::blocked, N::fail, S::failed},        // forced

    {S::ready, N::submit, S::submitted},
    {S::ready, N::stop, S::stopped},
    {S::ready, N::succeed, S::succeeded},  // forced, or carried from an earlier run
    {S::ready, N::fail, S::failed},        // forced

    {S::submitted, N::run, S::running},
    {S::submitted, N::lose_sight, S::unreachable},
    {S::submitted, N::back_off, S::backoff},
    {S::submitted, N::again, S::ready},
    {S::submitted, N::succeed, S::succeeded},
    {S::submitted, N::fail, S::failed},
    {S::submitted, N::stop, S::stopped},

    {S::running, N::lose_sight, S::unreachable},
    {S::running, N::back_off, S::backoff},
    {S::running, N::again, S::ready},
    {S::running, N::succeed, S::succeeded},
    {S::running, N::fail, S::failed},
    {S::running, N::stop, S::stopped},

    {S::backoff, N::again, S::ready},
    {S::backoff, N::open, S::running},
    {S::backoff, N::stop, S::stopped},
    {S::backoff, N::succeed, S::succeeded},  // forced
    {S::backoff, N::fail, S::failed},        // forced

    {S::unreachable, N::run, S::running},
    {S::unreachable, N::find, S::submitted},
    {S::unreachable, N::back_off, S::backoff},
    {S::unreachable, N::again, S::ready},
    {S::unreachable, N::succeed, S::succeeded},
    {S::unreachable, N::fail, S::failed},
    {S::unreachable, N::stop, S::stopped},
});

constexpr std::size_t kSignalCount = 13;
using Table = std::array<std::array<std::optional<NodeState>, kSignalCount>, kNodeStateCount>;

constexpr Table make_table() {
  Table table{};
  for (const Transition& row : kTransitions) {
    table[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.signal)] = row.to;
  }
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

std::span<const Transition> transitions() {
  return kTransitions;
}

std::optional<NodeState> next_state(NodeState from, NodeSignal signal) {
  return kTable[static_cast<std::size_t>(from)][static_cast<std::size_t>(signal)];
}

std::string_view name_of(NodeSignal signal) {
  switch (signal) {
    case NodeSignal::turn: return "turn";
    case NodeSignal::open: return "open";
    case NodeSignal::pass_through: return "pass_through";
    case NodeSignal::skip: return "skip";
    case NodeSignal::submit: return "submit";
    case NodeSignal::run: return "run";
    case NodeSignal::lose_sight: return "lose_sight";
    case NodeSignal::find: return "find";
    case NodeSignal::back_off: return "back_off";
    case NodeSignal::again: return "again";
    case NodeSignal::succeed: return "succeed";
    case NodeSignal::fail: return "fail";
    case NodeSignal::stop: return "stop";
  }
  return "?";
}

}  // namespace stagecall
