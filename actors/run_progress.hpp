// How far the attempts of one run are, as their executors last said. Of this moment only: it is not
// recorded, and no decision hangs on it.
#pragma once

#include "core/pipeline_state.hpp"
#include "messages/held_view.hpp"
#include "messages/inputs.hpp"

#include <map>
#include <vector>

namespace stagecall {

class RunProgress {
 public:
  /// True: the report says only how far a running attempt is, so that no pass is needed for it.
  bool take(const ReportInput& report, const PipelineState& state);
  /// Fills in what is known of these nodes.
  void add_to(std::vector<RunningNode>& running, const PipelineState& state) const;

 private:
  struct Last {
    Attempt attempt;
    Nonce nonce;
    double fraction = 0;
  };
  std::map<NodeIndex, Last> last_;  // one a node at most; of an older attempt: not known
};

/// Those of the nodes whose progress is known.
std::vector<NodeProgress> progress_of(const std::vector<RunningNode>& running);

}  // namespace stagecall
