// Proves a run from its history alone: each pass follows from those before it.
#pragma once

#include "core/pipeline_state.hpp"
#include "messages/events.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace stagecall {

/// One broken rule, at one pass.
struct Violation {
  Seq seq;
  std::string rule;  ///< stable name: `seq`, `term`, `event`, `nonce`, `custody`, `fold`, …
  std::string text;
  friend bool operator==(const Violation&, const Violation&) = default;
};

class HistoryCheck {
 public:
  explicit HistoryCheck(std::shared_ptr<const Definition> definition);

  /// Passes in stored order. After the first event that cannot be applied, the fold stops there and
  /// only what needs no state is checked on.
  void take(const Pass& pass);

  const std::vector<Violation>& violations() const { return violations_; }
  const PipelineState& state() const { return state_; }
  /// Whether it ended that attempt without anybody's word: only then may it be a leftover.
  bool has_left(const AttemptMark& mark) const;
  std::uint64_t events() const { return events_; }
  /// The fold reached the last pass taken.
  bool is_whole() const { return whole_; }

 private:
  void check_place(const Pass& pass);
  void check_events(const Pass& pass);
  void blame(const Pass& pass, std::string rule, std::string text);

  PipelineState state_;
  std::vector<Violation> violations_;
  std::unordered_set<std::uint64_t> nonces_;
  std::set<std::pair<NodeIndex, Attempt>> unconfirmed_;
  std::set<NodeIndex> forced_;
  Seq last_seq_;
  Term last_term_;
  std::uint64_t events_ = 0;
  bool whole_ = true;
};

}  // namespace stagecall
