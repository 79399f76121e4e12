#include "cli/run_text.hpp"

#include <algorithm>
#include <numeric>

namespace stagecall::cli {
namespace {

constexpr std::size_t kFailedShownMax = 20;

std::uint32_t total_of(const NodeCounts& nodes) {
  return std::accumulate(nodes.begin(), nodes.end(), 0U);
}

std::uint32_t count_of(const NodeCounts& nodes, NodeState state) {
  return nodes[static_cast<std::size_t>(state)];
}

std::uint32_t ended_of(const NodeCounts& nodes) {
  return count_of(nodes, NodeState::succeeded) + count_of(nodes, NodeState::failed) +
         count_of(nodes, NodeState::skipped) + count_of(nodes, NodeState::stopped);
}

std::string elapsed_text(const RunStatus& status) {
  return seconds_text(static_cast<double>(status.elapsed.count()) / 1000);
}

std::vector<std::string> failed_lines(const RunReport& report) {
  std::vector<std::string> lines;
  const auto& failed = report.status.failed;
  for (std::size_t i = 0; i < std::min(failed.size(), kFailedShownMax); ++i) {
    const FailedNode& node = failed[i];
    lines.push_back("  " + escaped(node.node) + ": attempt " + std::to_string(node.attempt.value) +
                    " " + std::string{name_of(node.outcome.kind)} +
                    (node.outcome.error.empty() ? "" : ": " + escaped(node.outcome.error)));
  }
  if (failed.size() > kFailedShownMax) {
    lines.push_back("  and " + std::to_string(failed.size() - kFailedShownMax) + " more");
  }
  return lines;
}

std::string padded(std::string text, std::size_t width) {
  const auto columns = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
  text.append(columns < width ? width - columns : 0, ' ');
  return text;
}

/// Rounded down: what is not done is not shown as 100 %. The least step of a double does not count.
std::string done_text(const std::optional<double>& progress) {
  return progress ? ", " + std::to_string(static_cast<int>(*progress * 100 + 1e-9)) + " % done"
                  : std::string{};
}

}  // namespace

Colour colour_of(RunState state) {
  switch (state) {
    case RunState::succeeded: return Colour::good;
    case RunState::failed: return Colour::bad;
    case RunState::queued:
    case RunState::running:
    case RunState::stopping:
    case RunState::stopped: return Colour::plain;
  }
  return Colour::plain;
}

std::string progress_text(const NodeCounts& nodes) {
  std::string text =
      std::to_string(ended_of(nodes)) + " of " + std::to_string(total_of(nodes)) + " nodes";
  for (const NodeState state :
       {NodeState::submitted, NodeState::running, NodeState::backoff, NodeState::unreachable,
        NodeState::failed, NodeState::skipped, NodeState::stopped}) {
    if (const auto count = count_of(nodes, state); count > 0) {
      text += ", " + std::to_string(count) + " " + std::string{name_of(state)};
    }
  }
  return text;
}

void write_run(Output& output, const RunReport& report) {
  const RunStatus& status = report.status;
  output.line(escaped(status.run.text()) + " " +
              output.coloured(name_of(status.state), colour_of(status.state)) + ": " +
              progress_text(status.nodes) + ", " + elapsed_text(status) + ", " +
              std::to_string(status.passes.tick + status.passes.event) + " passes");
  if (!status.parked.empty()) {
    output.line("  parked: " + escaped(status.parked));
  }
  if (!report.quarantined.empty()) {
    output.line("  " + escaped(report.quarantined));
  }
  for (const std::string& line : failed_lines(report)) {
    output.line(line);
  }
  for (const LeftoverAttempt& leftover : report.leftovers) {
    output.line("  " + escaped(leftover.node) + ": attempt " +
                std::to_string(leftover.attempt.value) + " of " + escaped(leftover.custodian) +
                " was ended and has not said that it has");
  }
  for (const RunningNode& node : status.running) {
    output.line("  " + escaped(node.node) + ": attempt " + std::to_string(node.attempt.value) +
                " runs for " + seconds_text(static_cast<double>(node.age.count()) / 1000) +
                done_text(node.progress));
  }
}

void write_runs(Output& output, const std::vector<RunReport>& reports) {
  std::size_t width = 3;
  for (const RunReport& report : reports) {
    width = std::max(width, std::min<std::size_t>(escaped(report.status.run.text()).size(), 40));
  }
  output.line(padded("RUN", width) + "  STATUS     TIME      NODES");
  for (const RunReport& report : reports) {
    const RunStatus& status = report.status;
    output.line(
        padded(escaped(status.run.text()), width) + "  " +
        output.coloured(padded(std::string{name_of(status.state)}, 9), colour_of(status.state)) +
        "  " + padded(elapsed_text(status), 8) + "  " + progress_text(status.nodes) +
        (status.parked.empty() ? "" : ", parked"));
  }
}

void note_end(Output& output, const RunReport& report) {
  const RunStatus& status = report.status;
  output.note(escaped(status.run.text()) + " " +
              output.coloured_note(name_of(status.state), colour_of(status.state)) + ": " +
              std::to_string(total_of(status.nodes)) + " nodes in " + elapsed_text(status));
  for (const std::string& line : failed_lines(report)) {
    output.note(line);
  }
}

}  // namespace stagecall::cli
