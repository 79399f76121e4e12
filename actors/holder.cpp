#include "actors/holder.hpp"

#include "formats/held_text.hpp"
#include "messages/limits.hpp"
#include "persistence/control_socket.hpp"

#include <algorithm>
#include <string_view>

namespace stagecall {
namespace {

constexpr std::string_view kAsksRun = "run ";

}  // namespace

std::string holder_question(const RunId& run) {
  return std::string{kAsksRun} + run.text();
}

std::optional<RunId> asked_run(const std::string& line) {
  return line.starts_with(kAsksRun) ? RunId::parse(std::string_view{line}.substr(kAsksRun.size()))
                                    : std::nullopt;
}

std::optional<HeldView> ask_holder(const std::string& store_folder, const RunRow& row,
                                   const Clock& clock) {
  if (row.owner.empty() || is_terminal(row.summary.state)) {
    return std::nullopt;
  }
  const auto answer = ask_control_server(store_folder, row.owner, holder_question(row.run),
                                         kLimits.holder_wait, clock);
  auto view = answer ? read_held(*answer) : std::nullopt;
  return view && view->run == row.run ? view : std::nullopt;
}

void add_held(const HeldView& view, RunStatus& status) {
  if (is_terminal(status.state)) {
    return;
  }
  status.parked = view.parked;
  for (RunningNode& node : status.running) {
    const auto told = std::find_if(
        view.progress.begin(), view.progress.end(), [&node](const NodeProgress& progress) {
          return progress.node == node.node && progress.attempt == node.attempt;
        });
    if (told != view.progress.end()) {
      node.progress = told->fraction;
    }
  }
}

void add_held(const HeldView& view, ExplainContext& context) {
  context.holder = view.replica;
  context.trusted_until = context.now + view.lease_left;
  context.parked = view.parked;
  context.is_draining = view.is_draining;
  context.slots_free = view.slots_free;
  context.slots_contended = view.slots_contended;
}

}  // namespace stagecall
