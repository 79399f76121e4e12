#include "actors/run_reader.hpp"

#include "core/explain.hpp"
#include "core/history_check.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/codec.hpp"

#include <algorithm>
#include <utility>

namespace stagecall {
namespace {

Error store_damaged(const RunRow& row, const std::string& what) {
  return {ErrorCode::store_damaged, "run " + row.run.text() + ": " + what};
}

}  // namespace

Result<RunRow> find_run(Store& store, const std::string& text) {
  if (const auto id = RunId::parse(text)) {
    auto row = store.run(*id);
    if (row || row.error().code != ErrorCode::not_found) {
      return row;
    }
  }
  auto latest = store.latest_run(text);
  if (!latest && latest.error().code == ErrorCode::not_found) {
    return fail(ErrorCode::not_found, "there is no run \"" + text +
                                          "\": neither PIPELINE/ITERATION nor a pipeline that has "
                                          "runs in this store");
  }
  return latest;
}

bool is_run_of(const RunRow& row, const Definition& definition) {
  return content_hash(write_pipeline(definition.spec())) == row.definition;
}

Result<std::shared_ptr<const Definition>> read_definition(Store& store, const RunRow& row) {
  const auto text = store.definition(row.definition);
  if (!text) {
    return tl::unexpected<Error>{text.error()};
  }
  auto definition = read_pipeline(*text, {});
  if (!definition) {
    return tl::unexpected<Error>{
        store_damaged(row, "its definition cannot be read: " + definition.error().message)};
  }
  return definition;
}

Result<PipelineState> fold_run(Store& store, const RunRow& row) {
  auto definition = read_definition(store, row);
  if (!definition) {
    return tl::unexpected<Error>{std::move(definition).error()};
  }
  const auto history = store.history(row.run, Seq{0});
  if (!history) {
    return tl::unexpected<Error>{history.error()};
  }
  HistoryCheck check{*std::move(definition)};
  for (const StoredPass& stored : *history) {
    if (stored.pass.seq <= row.last_seq) {
      check.take(stored.pass);
    }
  }
  if (!check.is_whole()) {
    return tl::unexpected<Error>{
        store_damaged(row, "its history cannot be folded: " + check.violations().front().text)};
  }
  return check.state();
}

namespace {

/// None where they cannot be read: they are told beside the rest.
std::vector<LeftoverAttempt> read_leftovers(Store& store, const RunRow& row) {
  std::vector<LeftoverAttempt> told;
  const auto leftovers = store.leftovers(row.run);
  if (!leftovers || leftovers->empty()) {
    return told;
  }
  const auto definition = read_definition(store, row);
  for (const Leftover& leftover : *leftovers) {
    if (definition && leftover.mark.node.value < (*definition)->graph().size()) {
      told.push_back({(*definition)->node(leftover.mark.node).id, leftover.mark.attempt,
                      leftover.custodian, leftover.since});
    }
  }
  return told;
}

}  // namespace

RunReport report_run(Store& store, const RunRow& row, WallTime now, ReportDepth depth) {
  const WallTime until = row.summary.ended_at.value_or(now);
  RunReport report{{.run = row.run,
                    .state = row.summary.state,
                    .elapsed = std::max(Duration{0}, until - row.created_at),
                    .nodes = row.summary.nodes,
                    .passes = row.summary.passes}};
  if (!is_terminal(row.summary.state)) {
    report.status.parked = row.parked;
  }
  if (depth == ReportDepth::nodes) {
    report.leftovers = read_leftovers(store, row);
  }
  const auto has = [&row](NodeState state) {
    return row.summary.nodes[static_cast<std::size_t>(state)] > 0;
  };
  if (has(NodeState::failed) || (depth == ReportDepth::nodes && has(NodeState::running))) {
    const auto state = fold_run(store, row);
    if (!state) {
      report.quarantined = state.error().message;
      return report;
    }
    report.status.failed = state->failures();
    report.status.running = running_nodes(*state, now);
  }
  return report;
}

Result<void> read_on(Store& store, const RunId& run, Seq& seen,
                     const std::function<void(const Pass&, const Event&)>& take) {
  const auto passes = store.history(run, seen);
  if (!passes) {
    return tl::unexpected<Error>{passes.error()};
  }
  for (const StoredPass& stored : *passes) {
    seen = stored.pass.seq;
    for (const Event& event : stored.pass.events) {
      take(stored.pass, event);
    }
  }
  return {};
}

}  // namespace stagecall
