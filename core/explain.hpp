// What can be told of the nodes of a run: why one does not run, how long one runs already.
#pragma once

#include "core/pipeline_state.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecall {

/// What the state of a run does not tell. What is left out is not known, and is no reason; that its
/// holder says nothing is one.
struct ExplainContext {
  WallTime now{};
  std::optional<std::string> holder{};        ///< whose lease it is, by name; empty = nobody's
  std::optional<WallTime> trusted_until{};    ///< the end of that holder's trust in its lease
  std::string parked{};                       ///< why the holder makes no pass
  std::string quarantined{};                  ///< why the run is left alone
  bool is_draining = false;                   ///< the holder starts nothing more
  std::optional<std::uint32_t> slots_free{};  ///< that the run could have; none = no holder answers
  bool slots_contended = false;               ///< other runs wait for slots as well
  std::set<NodeIndex> without_executor{};     ///< no executor that could take the run runs these
};

/// Every node that does not run, or that ended otherwise than succeeded, with the one reason for
/// it; in document order. A node that is named is explained whatever its state.
std::vector<NodeExplanation> explain(const PipelineState& state, const ExplainContext& context,
                                     std::optional<NodeIndex> node = std::nullopt);

/// Nodes that run, the oldest first, at most Limits::nodes_listed_max.
std::vector<RunningNode> running_nodes(const PipelineState& state, WallTime now);

}  // namespace stagecall
