#include "core/admission.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace stagecall {
namespace {

Result<Attempt> awaited_attempt(const NodeSpec& spec, const NodeRecord& node,
                                const NodeDoneInput& input) {
  const std::string named = "node \"" + spec.id + "\"";
  if (!is_external(spec) && !input.force_reason) {
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

}  // namespace

void SlotPool::want(const RunId& run, Demand demand) {
  std::erase_if(demand, [](const auto& wanted) { return wanted.second == 0; });
  Member& member = members_[run];
  waiting_ -= member.demand.empty() ? 0 : 1;
  waiting_ += demand.empty() ? 0 : 1;
  std::set<std::int32_t> priorities;
  for (const auto& [slot_class, count] : demand) {
    priorities.insert(slot_class.priority);
    if (!member.places.contains(slot_class.priority)) {
      Turn& turn = turns_[slot_class.priority];
      member.places.emplace(slot_class.priority, turn.insert(turn.end(), run));
    }
  }
  for (auto place = member.places.begin(); place != member.places.end();) {
    const std::int32_t priority = (place++)->first;
    if (!priorities.contains(priority)) {
      leave_turn(priority, member);
    }
  }
  member.demand = std::move(demand);
}

void SlotPool::give_back(const RunId& run, std::uint32_t slots) {
  const auto found = members_.find(run);
  if (found == members_.end()) {
    return;
  }
  const std::uint32_t returned = std::min(slots, found->second.granted);
  found->second.granted -= returned;
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
  while (!turns_.empty()) {
    const std::int32_t priority = turns_.begin()->first;
    const RunId run = turns_.begin()->second.front();
    Member& member = members_.at(run);
    // The first class of this priority: no class is wider.
    const auto wanted =
        member.demand.lower_bound({priority, std::numeric_limits<std::uint32_t>::max()});
    const std::uint32_t width = wanted->first.width;
    if (width > free_) {
      break;
    }
    give_one(member, wanted);
    granted[run] += width;
  }
  std::vector<Grant> grants;
  for (const auto& [run, slots] : granted) {
    grants.push_back({run, slots});
  }
  return grants;
}

/// Grants the run one node's slots; then it is the next one's turn.
void SlotPool::give_one(Member& member, Demand::iterator wanted) {
  const auto [priority, width] = wanted->first;
  free_ -= width;
  member.granted += width;
  if (--wanted->second == 0) {
    wanted = member.demand.erase(wanted);
    waiting_ -= member.demand.empty() ? 1 : 0;
    if (wanted == member.demand.end() || wanted->first.priority != priority) {
      leave_turn(priority, member);
      return;
    }
  }
  Turn& turn = turns_.at(priority);
  turn.splice(turn.end(), turn, member.places.at(priority));
}

void SlotPool::leave_turn(std::int32_t priority, Member& member) {
  const auto turn = turns_.find(priority);
  const auto place = member.places.find(priority);
  turn->second.erase(place->second);
  member.places.erase(place);
  if (turn->second.empty()) {
    turns_.erase(turn);
  }
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

Result<std::optional<Attempt>> admit_node_done(const PipelineState& state,
                                               const NodeDoneInput& input, bool is_repeat) {
  const std::string named = "node \"" + input.node + "\"";
  const auto found = state.definition().find(input.node);
  if (!found) {
    return fail(ErrorCode::not_found, "the run has no " + named);
  }
  if (!is_told_from_outside(input.outcome.kind)) {
    return fail(ErrorCode::invalid_argument, named + " is to end " +
                                                 std::string{name_of(input.outcome.kind)} +
                                                 ": from outside a node ends succeeded or failed");
  }
  if (input.force_reason && input.force_reason->empty()) {
    return fail(ErrorCode::invalid_argument, named + " is to be forced: say why");
  }
  if (is_terminal(state.run().state)) {
    return std::nullopt;
  }
  auto attempt = awaited_attempt(state.spec(*found), state.node(*found), input);
  if (!attempt && is_repeat) {
    return std::nullopt;
  }
  return attempt;
}

}  // namespace stagecall
