#include "actors/run_progress.hpp"

#include <algorithm>
#include <cmath>

namespace stagecall {

bool RunProgress::take(const ReportInput& report, const PipelineState& state) {
  const auto node = state.definition().find(report.node);
  if (!node) {
    return false;
  }
  const auto* progress = std::get_if<SaysProgress>(&report.news);
  if (progress == nullptr) {
    if (confirms_end(report.news)) {
      last_.erase(*node);
    }
    return false;
  }
  const NodeRecord& record = state.node(*node);
  if (record.attempt != report.attempt || record.nonce != report.nonce ||
      !has_open_attempt(record.state)) {
    return false;
  }
  // A host's own executor may say anything.
  if (!std::isnan(progress->fraction)) {
    last_[*node] = {report.attempt, report.nonce, std::clamp(progress->fraction, 0.0, 1.0)};
  }
  return record.state == NodeState::running && !record.absent;
}

void RunProgress::add_to(std::vector<RunningNode>& running, const PipelineState& state) const {
  for (RunningNode& told : running) {
    const auto node = state.definition().find(told.node);
    const auto found = node ? last_.find(*node) : last_.end();
    if (found != last_.end() && found->second.attempt == told.attempt &&
        found->second.nonce == state.node(*node).nonce) {
      told.progress = found->second.fraction;
    }
  }
}

std::vector<NodeProgress> progress_of(const std::vector<RunningNode>& running) {
  std::vector<NodeProgress> known;
  for (const RunningNode& node : running) {
    if (node.progress) {
      known.push_back({node.node, node.attempt, *node.progress});
    }
  }
  return known;
}

}  // namespace stagecall
