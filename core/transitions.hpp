// Which state a node goes to on which signal: the one table of a node's life (docs/STATES.md).
#pragma once

#include "stagecall/run.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stagecall {

/// What can happen to a node, seen from its state machine.
enum class NodeSignal : std::uint8_t {
  turn,          ///< its trigger is satisfied: it has something to run
  open,          ///< its trigger is satisfied or its backoff over: external, somebody may report it
  pass_through,  ///< its trigger is satisfied: a join
  skip,          ///< its trigger can never be satisfied
  submit,        ///< an attempt is recorded
  run,           ///< its executor says that it runs, or that it has it again and it ran before
  lose_sight,    ///< its custodian cannot be asked
  find,          ///< its custodian has it after all; whether it runs is not known
  back_off,      ///< an attempt failed, another is due later
  again,         ///< an attempt ended without using up the node; or the backoff is over
  succeed,
  fail,
  stop,
};

struct Transition {
  NodeState from;
  NodeSignal signal;
  NodeState to;
};

/// Every legal transition, ordered by state.
std::span<const Transition> transitions();

/// Where the signal leads; none = not legal in this state.
std::optional<NodeState> next_state(NodeState from, NodeSignal signal);

std::string_view name_of(NodeSignal signal);

}  // namespace stagecall
