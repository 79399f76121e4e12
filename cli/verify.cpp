#include "cli/verify.hpp"

#include "core/invariants.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/codec.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace stagecall::cli {
namespace {

/// Reading row and history takes two transactions: repeated while the run moves in between.
constexpr int kReadsMax = 100;

struct StoredRun {
  RunRow row;
  std::vector<RawPass> history;
};

class RunVerifier {
 public:
  RunVerifier(Store& store, RunId run, Verification& verification)
      : store_(store), run_(std::move(run)), verification_(verification) {}

  void verify();

 private:
  Result<StoredRun> read();
  std::shared_ptr<const Definition> definition(const RunRow& row);
  std::vector<Pass> decode(const std::vector<RawPass>& history);
  void check_row(const StoredRun& stored, const PipelineState& state);
  void check_leftovers(const HistoryCheck& check);
  void blame(Seq seq, std::string rule, std::string text) {
    verification_.violations.push_back({run_, {seq, std::move(rule), std::move(text)}});
  }

  Store& store_;
  RunId run_;
  Verification& verification_;
  bool decoded_all_ = true;
};

void RunVerifier::verify() {
  ++verification_.runs;
  const auto stored = read();
  if (!stored) {
    blame(Seq{0}, "unreadable", stored.error().message);
    return;
  }
  const std::vector<Pass> passes = decode(stored->history);
  const auto shared = definition(stored->row);
  if (shared == nullptr) {
    return;
  }
  HistoryCheck check{shared};
  for (const Pass& pass : passes) {
    check.take(pass);
  }
  for (const Violation& violation : check.violations()) {
    verification_.violations.push_back({run_, violation});
  }
  if (decoded_all_ && check.is_whole()) {
    check_leftovers(check);
    check_row(*stored, check.state());
    for (std::string& broken : broken_invariants(check.state())) {
      blame(check.state().run().last_seq, "invariant", std::move(broken));
    }
  }
}

Result<StoredRun> RunVerifier::read() {
  auto row = store_.run(run_);
  for (int reads = 1; row; ++reads) {
    auto history = store_.raw_history(run_);
    if (!history) {
      return tl::unexpected<Error>{std::move(history).error()};
    }
    auto again = store_.run(run_);
    if (!again) {
      return tl::unexpected<Error>{std::move(again).error()};
    }
    if (*again == *row || reads == kReadsMax) {
      if (*again != *row) {
        std::erase_if(*history, [&row](const RawPass& pass) { return pass.seq > row->last_seq; });
      }
      return StoredRun{*std::move(row), *std::move(history)};
    }
    row = std::move(again);
  }
  return tl::unexpected<Error>{row.error()};
}

std::shared_ptr<const Definition> RunVerifier::definition(const RunRow& row) {
  const auto text = store_.definition(row.definition);
  if (!text) {
    blame(Seq{0}, "definition", text.error().message);
    return nullptr;
  }
  if (content_hash(*text) != row.definition) {
    blame(Seq{0}, "definition",
          "definition " + row.definition + " now has the content of " + content_hash(*text));
  }
  const auto read = read_pipeline(*text, {});
  if (!read) {
    blame(Seq{0}, "definition", read.error().message);
    return nullptr;
  }
  if ((*read)->spec().name != run_.pipeline) {
    blame(Seq{0}, "definition", "its definition is of pipeline \"" + (*read)->spec().name + '"');
  }
  return *read;
}

/// A row that cannot be decoded ends the fold, as if it were missing; its chain goes on.
std::vector<Pass> RunVerifier::decode(const std::vector<RawPass>& history) {
  std::vector<Pass> passes;
  std::uint64_t previous = 0;
  for (const RawPass& raw : history) {
    Pass pass{raw.seq, raw.term, raw.at, {}};
    if (checksum_of(previous, pass, raw.events) != raw.checksum) {
      blame(raw.seq, "checksum",
            "pass " + std::to_string(raw.seq.value) +
                " does not have its checksum: it was changed, or the one before it was");
    }
    previous = raw.checksum;
    auto events = decode_events(raw.events);
    if (!events) {
      blame(raw.seq, "decode", events.error().message);
      decoded_all_ = false;
      continue;
    }
    verification_.events += events->size();
    if (decoded_all_) {
      pass.events = *std::move(events);
      passes.push_back(std::move(pass));
    }
  }
  return passes;
}

void RunVerifier::check_row(const StoredRun& stored, const PipelineState& state) {
  const RunRow& row = stored.row;
  const Seq last = stored.history.empty() ? Seq{0} : stored.history.back().seq;
  const std::uint64_t checksum = stored.history.empty() ? 0 : stored.history.back().checksum;
  const auto expect = [&](bool holds, const std::string& text) {
    if (!holds) {
      blame(last, "row", text);
    }
  };
  expect(row.last_seq == last, "the run's row ends at pass " + std::to_string(row.last_seq.value) +
                                   ", its history at " + std::to_string(last.value));
  expect(row.last_checksum == checksum, "the run's row has not the checksum of the last pass");
  expect(row.term >= state.run().term, "the run's row has term " + std::to_string(row.term.value) +
                                           ", its history " +
                                           std::to_string(state.run().term.value));
  expect(row.summary.state == state.run().state,
         "the run's row says " + std::string{name_of(row.summary.state)} + ", its history " +
             std::string{name_of(state.run().state)});
  expect(row.summary.nodes == state.run().counts,
         "the run's row counts its nodes otherwise than its history");
  if (is_terminal(state.run().state)) {
    expect(row.summary.ended_at == state.run().ended_at,
           "the run's row has another end than its history");
  } else {
    expect(!row.summary.ended_at, "the run's row has an end, its history none");
  }
}

void RunVerifier::check_leftovers(const HistoryCheck& check) {
  const auto leftovers = store_.leftovers(run_);
  if (!leftovers) {
    blame(Seq{0}, "unreadable", leftovers.error().message);
    return;
  }
  verification_.leftovers += leftovers->size();
  for (const Leftover& leftover : *leftovers) {
    if (!check.has_left(leftover.mark)) {
      blame(Seq{0}, "leftover",
            "attempt " + std::to_string(leftover.mark.attempt.value) + " of node " +
                std::to_string(leftover.mark.node.value) +
                " is on the leftovers list, and no pass ended it unconfirmed");
    }
  }
}

}  // namespace

void verify_run(Store& store, const RunId& run, Verification& verification) {
  RunVerifier{store, run, verification}.verify();
}

Result<Verification> verify_store(Store& store) {
  const auto rows = store.runs();
  if (!rows) {
    return tl::unexpected<Error>{rows.error()};
  }
  Verification verification;
  for (const RunRow& row : *rows) {
    verify_run(store, row.run, verification);
  }
  return verification;
}

}  // namespace stagecall::cli
