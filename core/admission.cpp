#include "core/admission.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stagecall {

void SlotPool::want(const RunId& run, Demand demand) {
  Member& member = members_[run];
  waiting_ -= member.demand.empty() ? 0 : 1;
  waiting_ += demand.empty() ? 0 : 1;
  for (const auto& [slot_class, count] : member.demand) {
    if (!demand.contains(slot_class)) {
      turns_[slot_class].remove(run);
    }
  }
  for (const auto& [slot_class, count] : demand) {
    if (!member.demand.contains(slot_class)) {
      turns_[slot_class].push_back(run);
    }
  }
  member.demand = std::move(demand);
}

void SlotPool::give_back(const RunId& run, std::uint32_t slots) {
  Member& member = members_[run];
  const std::uint32_t returned = std::min(slots, member.granted);
  member.granted -= returned;
  free_ += returned;
}

void SlotPool::remove(const RunId& run) {
  const auto found = members_.find(run);
  if (found == members_.end()) {
    return;
  }
  want(run, {});
  free_ += found->second.granted;
  members_.erase(found);
}

std::vector<SlotPool::Grant> SlotPool::grant() {
  std::map<RunId, std::uint32_t> granted;
  for (auto turn = turns_.begin(); turn != turns_.end();) {
    auto& [slot_class, runs] = *turn;
    while (!runs.empty() && slot_class.width <= free_) {
      const RunId run = runs.front();
      runs.pop_front();
      Member& member = members_[run];
      free_ -= slot_class.width;
      member.granted += slot_class.width;
      granted[run] += slot_class.width;
      if (--member.demand[slot_class] == 0) {
        member.demand.erase(slot_class);
        waiting_ -= member.demand.empty() ? 1 : 0;
      } else {
        runs.push_back(run);
      }
    }
    if (!runs.empty()) {
      break;
    }
    turn = turns_.erase(turn);
  }
  std::vector<Grant> grants;
  for (const auto& [run, slots] : granted) {
    grants.push_back({run, slots});
  }
  return grants;
}

bool SlotPool::others_wait(const RunId& run) const {
  const auto found = members_.find(run);
  const bool waits_itself = found != members_.end() && !found->second.demand.empty();
  return waiting_ > (waits_itself ? 1U : 0U);
}

std::uint32_t SlotPool::granted(const RunId& run) const {
  const auto found = members_.find(run);
  return found == members_.end() ? 0 : found->second.granted;
}

std::vector<RunId> SlotPool::holders() const {
  std::vector<RunId> holders;
  for (const auto& [run, member] : members_) {
    if (member.granted > 0) {
      holders.push_back(run);
    }
  }
  return holders;
}

Result<Attempt> admit_node_done(const PipelineState& state, const NodeDoneInput& input) {
  const auto found = state.definition().find(input.node);
  if (!found) {
    return fail(ErrorCode::not_found, "the run has no node \"" + input.node + '"');
  }
  const NodeRecord& node = state.node(*found);
  const std::string named = "node \"" + input.node + "\"";
  const bool is_external = std::holds_alternative<ExternalAction>(state.spec(*found).action);
  if (!is_external && !input.force_reason) {
    return fail(ErrorCode::not_external,
                named +
                    " is not external: only its executor reports its end (an operator may end "
                    "it with --force --reason)");
  }
  if (is_terminal(node.state) || (!input.force_reason && node.state != NodeState::running)) {
    return fail(ErrorCode::not_waiting,
                named + " does not wait for a report: it is " + std::string{name_of(node.state)});
  }
  if (input.attempt && *input.attempt != node.attempt) {
    return fail(ErrorCode::old_attempt, named + " is at attempt " +
                                            std::to_string(node.attempt.value) + ", not " +
                                            std::to_string(input.attempt->value));
  }
  return node.attempt;
}

}  // namespace stagecall
