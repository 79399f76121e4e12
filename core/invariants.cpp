#include "core/invariants.hpp"

#include "core/run_result.hpp"

#include <cstddef>

namespace stagecall {
namespace {

class Inspection {
 public:
  explicit Inspection(const PipelineState& state) : state_(state) {}

  std::vector<std::string> run() && {
    for (std::uint32_t i = 0; i < state_.size(); ++i) {
      inspect_node(NodeIndex{i});
      tell_successors(NodeIndex{i});
    }
    inspect_dependencies();
    inspect_sums();
    return std::move(broken_);
  }

 private:
  void expect(bool holds, const std::string& rule) {
    if (!holds) {
      broken_.push_back(rule);
    }
  }

  void inspect_node(NodeIndex index) {
    const NodeRecord& node = state_.node(index);
    const std::string name = "node \"" + state_.spec(index).id + "\": ";
    const bool external = is_external(state_.spec(index));
    const bool open = has_open_attempt(node.state);
    ++counts_[static_cast<std::size_t>(node.state)];
    if (external && node.state == NodeState::running) {
      ++external_running_;
    }
    if (open && !external && !state_.holders().empty() && node.custodian == state_.run().holder) {
      busy_ += state_.width(index);
    }
    deadlines_ += node.deadline() != kNever ? 1 : 0;

    expect(state_.ready().contains(state_.ready_key(index)) == (node.state == NodeState::ready),
           name + "is in the ready set exactly if it is ready");
    expect(state_.open().contains(index) == open, name + "is listed open exactly if it is");
    expect(node.deadline() == kNever || state_.deadlines().contains({node.deadline(), index}),
           name + "its deadline is listed");
    expect(!is_terminal(node.state) || node.deadline() == kNever,
           name + "has no deadline once terminal");
    expect(open || (!node.ending && !node.absent && !node.ran),
           name + "what is known of an open attempt goes with it");
    expect(!node.ran || node.state != NodeState::submitted, name + "runs once it ran");
    expect(node.state != NodeState::backoff || node.due_at != kNever,
           name + "waits for a dated retry");
    expect(!node.ending || node.due_at != kNever, name + "its end is waited for until a moment");
    expect(!open || node.attempt.value > 0, name + "an open attempt has a number");
    expect(state_.run().stop_cause == StopCause::none || open || is_terminal(node.state),
           name + "a stop leaves only open attempts");
  }

  void tell_successors(NodeIndex index) {
    waiting_.resize(state_.size());
    unsuccessful_.resize(state_.size());
    const NodeState node_state = state_.node(index).state;
    for (const NodeIndex successor : state_.definition().graph().successors(index)) {
      waiting_[successor.value] += is_terminal(node_state) ? 0 : 1;
      unsuccessful_[successor.value] +=
          is_terminal(node_state) && node_state != NodeState::succeeded ? 1 : 0;
    }
  }

  void inspect_dependencies() {
    for (std::uint32_t i = 0; i < state_.size(); ++i) {
      const NodeRecord& node = state_.node(NodeIndex{i});
      const std::string name = "node \"" + state_.spec(NodeIndex{i}).id + "\": ";
      expect(node.waiting == waiting_[i], name + "counts the dependencies it waits for");
      expect(node.unsuccessful == unsuccessful_[i], name + "counts its unsuccessful dependencies");
      const bool starts_after_all = state_.spec(NodeIndex{i}).trigger != Trigger::any_failed;
      expect(!starts_after_all || node.attempt == node.carried || node.waiting == 0,
             name + "starts after all it waits for");
      expect(!state_.run().begun || node.state != NodeState::blocked || node.waiting > 0,
             name + "is not blocked by nothing");
    }
  }

  void inspect_sums() {
    const RunRecord& run = state_.run();
    expect(run.counts == counts_, "the run counts its nodes by state");
    expect(run.external_running == external_running_, "the run counts its open external nodes");
    expect(run.slots_busy == busy_, "busy slots are those of its holder's open attempts");
    expect(state_.deadlines().size() == deadlines_, "no deadline is listed without its node");
    std::uint32_t demand = 0;
    for (const auto& [slot_class, count] : state_.demand()) {
      demand += count;
    }
    expect(demand == state_.ready().size(), "demand for slots is the ready nodes'");
    expect(!is_terminal(run.state) || run_result(counts_, run.stop_cause) == run.state,
           "a run ends after all of its nodes, as their states say");
  }

  const PipelineState& state_;
  std::vector<std::string> broken_;
  NodeCounts counts_{};
  std::uint32_t external_running_ = 0;
  std::uint32_t busy_ = 0;
  std::size_t deadlines_ = 0;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> unsuccessful_;
};

}  // namespace

std::vector<std::string> broken_invariants(const PipelineState& state) {
  return Inspection{state}.run();
}

}  // namespace stagecall
