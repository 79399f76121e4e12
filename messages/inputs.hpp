// What a run's core is told. Inputs carry no authority: decide() checks each against the state.
#pragma once

#include "messages/leases.hpp"
#include "stagecall/executor.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace stagecall {

/// Time has passed. Deadlines are looked at in every pass, whatever its input.
struct TickInput {
  friend bool operator==(const TickInput&, const TickInput&) = default;
};

/// This process holds the run from now on; the first input of each term.
struct TermInput {
  ReplicaIdentity holder;
  friend bool operator==(const TermInput&, const TermInput&) = default;
};

/// An executor's news of one attempt.
struct ReportInput {
  std::string node;
  Attempt attempt;
  Nonce nonce;
  AttemptNews news;
  friend bool operator==(const ReportInput&, const ReportInput&) = default;
};

/// Whether the news say that nothing of the attempt runs any more.
inline bool confirms_end(const AttemptNews& news) {
  const auto* absent = std::get_if<SaysAbsent>(&news);
  return std::holds_alternative<SaysEnded>(news) || (absent != nullptr && absent->proven);
}

struct StopInput {
  std::string reason;
  friend bool operator==(const StopInput&, const StopInput&) = default;
};

/// Somebody outside ends an external node; with a `force_reason`, any node.
struct NodeDoneInput {
  std::string node;
  std::optional<Attempt> attempt{};  ///< none: the current one
  Outcome outcome;
  std::string output{};
  std::optional<std::string> force_reason{};
  friend bool operator==(const NodeDoneInput&, const NodeDoneInput&) = default;
};

using Input = std::variant<TickInput, TermInput, ReportInput, StopInput, NodeDoneInput>;

/// What may wait in a run's durable inbox.
using InboxMessage = std::variant<StopInput, NodeDoneInput, ReportInput>;

}  // namespace stagecall
