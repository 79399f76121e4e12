// Who gets slots, and which reports from outside are taken: rules that need no actor.
#pragma once

#include "core/pipeline_state.hpp"
#include "messages/inputs.hpp"
#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <vector>

namespace stagecall {

/// The slots of one replica. Highest priority first; among runs of one priority in turn, one node
/// each, the widest of the run first. A wide node at the head waits for room and is not overtaken.
class SlotPool {
 public:
  using Demand = std::map<SlotClass, std::uint32_t>;

  explicit SlotPool(std::uint32_t slots) : free_(slots) {}
  SlotPool(SlotPool&&) = default;
  SlotPool& operator=(SlotPool&&) = default;

  /// Replaces what the run still wants, beside what it was granted.
  void want(const RunId& run, Demand demand);
  /// The run gives slots back.
  void give_back(const RunId& run, std::uint32_t slots);
  /// The run is gone: all that it had and wanted.
  void remove(const RunId& run);

  struct Grant {
    RunId run;
    std::uint32_t slots;
    friend bool operator==(const Grant&, const Grant&) = default;
  };
  /// Hands out what is free. A grant lowers the run's demand until its next want().
  std::vector<Grant> grant();

  /// Whether a run other than this one waits: then freed slots are to be given back.
  bool others_wait(const RunId& run) const;
  std::uint32_t free() const { return free_; }
  std::uint32_t granted(const RunId& run) const;
  /// Runs that have slots.
  std::vector<RunId> holders() const;

 private:
  using Turn = std::list<RunId>;  // runs that want slots at one priority, next one first
  struct Member {
    std::uint32_t granted = 0;
    Demand demand;
    std::map<std::int32_t, Turn::iterator> places;  // one for each priority in the demand
  };

  void give_one(Member& member, Demand::iterator wanted);
  void leave_turn(std::int32_t priority, Member& member);

  std::uint32_t free_;
  std::map<RunId, Member> members_;
  std::map<std::int32_t, Turn, std::greater<>> turns_;
  std::size_t waiting_ = 0;  // members with a demand
};

/// Somebody outside tells only whether a node succeeded or failed.
constexpr bool is_told_from_outside(OutcomeKind kind) {
  return kind == OutcomeKind::succeeded || kind == OutcomeKind::failed;
}

/// Judges a node-done from outside: the attempt that it ends (0 when forced on a node without one),
/// or none: it changes nothing, as the run has ended, or, `is_repeat`, the run was asked the same
/// before. Errors: not_found, invalid_argument (an outcome not told from outside, a force without
/// its reason), not_external, not_waiting (the state is named), old_attempt.
Result<std::optional<Attempt>> admit_node_done(const PipelineState& state,
                                               const NodeDoneInput& input, bool is_repeat);

}  // namespace stagecall
