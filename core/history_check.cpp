#include "core/history_check.hpp"

#include <utility>

namespace stagecall {

HistoryCheck::HistoryCheck(std::shared_ptr<const Definition> definition)
    : state_(std::move(definition)) {}

void HistoryCheck::take(const Pass& pass) {
  check_place(pass);
  if (whole_) {
    check_events(pass);
  }
  events_ += pass.events.size();
  last_seq_ = pass.seq;
  last_term_ = std::max(last_term_, pass.term);
}

void HistoryCheck::check_place(const Pass& pass) {
  if (pass.seq.value != last_seq_.value + 1) {
    blame(pass, "seq",
          "pass " + std::to_string(pass.seq.value) + " follows pass " +
              std::to_string(last_seq_.value) + ": what was between them is missing");
    whole_ = false;
  }
  if (pass.term < last_term_) {
    blame(pass, "term",
          "term " + std::to_string(pass.term.value) + " writes after term " +
              std::to_string(last_term_.value));
  }
  bool opens_term = false;
  for (const Event& event : pass.events) {
    if (const auto* submitted = std::get_if<AttemptSubmitted>(&event)) {
      if (!nonces_.insert(submitted->nonce.value).second) {
        blame(pass, "nonce", "two attempts have the same nonce");
      }
    }
    if (const auto* ended = std::get_if<AttemptEnded>(&event);
        ended != nullptr && !ended->confirmed) {
      unconfirmed_.emplace(ended->node, ended->attempt);
    }
    if (const auto* forced = std::get_if<NodeForced>(&event)) {
      forced_.insert(forced->node);
    }
    opens_term = opens_term || std::holds_alternative<TermOpened>(event);
  }
  if (opens_term != (pass.term > last_term_)) {
    blame(pass, "term",
          opens_term ? "term " + std::to_string(pass.term.value) + " is opened a second time"
                     : "term " + std::to_string(pass.term.value) + " writes without being opened");
  }
}

bool HistoryCheck::has_left(const AttemptMark& mark) const {
  return unconfirmed_.contains({mark.node, mark.attempt}) || forced_.contains(mark.node);
}

void HistoryCheck::check_events(const Pass& pass) {
  if (auto objection = state_.try_apply(pass)) {
    blame(pass, "event", *std::move(objection));
    whole_ = false;
  }
}

void HistoryCheck::blame(const Pass& pass, std::string rule, std::string text) {
  violations_.push_back({pass.seq, std::move(rule), std::move(text)});
}

}  // namespace stagecall
