#include "cli/history_lines.hpp"

#include "cli/output.hpp"
#include "cli/run_json.hpp"

#include <array>
#include <cstdio>
#include <string_view>

namespace stagecall::cli {
namespace {

std::string_view name_of_next(Next next) {
  switch (next) {
    case Next::finish: return "finish";
    case Next::backoff: return "backoff";
    case Next::again: return "again";
  }
  return "?";
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

/// Adds what an event says beside its kind, node and attempt.
struct AddDetails {
  Json& line;

  void outcome(const Outcome& outcome) const {
    line["outcome"] = name_of(outcome.kind);
    if (outcome.exit_code) {
      line["exit_code"] = *outcome.exit_code;
    }
    if (outcome.signal) {
      line["signal"] = *outcome.signal;
    }
    if (!outcome.error.empty()) {
      line["error"] = outcome.error;
    }
  }
  void operator()(const TermOpened& event) const {
    line["incarnation"] = event.holder.incarnation;
    line["host"] = event.holder.process.host;
    line["pid"] = event.holder.process.pid;
  }
  void operator()(const AttemptSubmitted& event) const {
    line["nonce"] = hexadecimal(event.nonce.value);
  }
  void operator()(const AttemptEnded& event) const {
    outcome(event.outcome);
    line["next"] = name_of_next(event.next);
    if (event.retry_at) {
      line["retry_at"] = time_text(*event.retry_at);
    }
    if (!event.confirmed) {
      line["confirmed"] = false;
    }
  }
  void operator()(const NodeForced& event) const {
    outcome(event.outcome);
    line["reason"] = event.reason;
  }
  void operator()(const StopRequested& event) const { line["reason"] = event.reason; }
  void operator()(const NodeCarried& event) const {
    if (event.has_succeeded) {
      line["outcome"] = name_of(OutcomeKind::succeeded);
    }
  }
  void operator()(const RunEnded& event) const { line["status"] = name_of(event.result); }
  template <class Other>
  void operator()(const Other& /*event*/) const {}
};

/// A member's value in a line of text.
std::string shown(const Json& value) {
  return value.is_string() ? escaped(value.get<std::string>())
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json HistoryLines::take(const Pass& pass, const Event& event) {
  Json line{{"seq", pass.seq.value}, {"at", time_text(pass.at)}, {"kind", kind_of(event)}};
  if (const auto* opened = std::get_if<TermOpened>(&event)) {
    replica_ = opened->holder.replica;
  }
  std::visit(
      [this, &line](const auto& kind) {
        if constexpr (requires { kind.node; }) {
          line["node"] = kind.node.value < definition_.graph().size()
                             ? definition_.node(kind.node).id
                             : std::string{"?"};
        }
        if constexpr (requires { kind.attempt; }) {
          line["attempt"] = kind.attempt.value;
        }
      },
      event);
  line["term"] = pass.term.value;
  if (!replica_.empty()) {
    line["replica"] = replica_;
  }
  std::visit(AddDetails{line}, event);
  return line;
}

std::string history_text(const Json& line) {
  std::array<char, 24> seq{};
  std::snprintf(seq.data(), seq.size(), "%5llu",
                static_cast<unsigned long long>(line.at("seq").get<std::uint64_t>()));
  std::string text =
      std::string{seq.data()} + "  " + shown(line.at("at")) + "  " + shown(line.at("kind"));
  for (const auto& [key, value] : line.items()) {
    if (key == "node") {
      text += "  " + shown(value);
    } else if (key == "attempt") {
      text += " #" + shown(value);
    } else if (key != "seq" && key != "at" && key != "kind") {
      text += "  " + key + "=" + shown(value);
    }
  }
  return text;
}

}  // namespace stagecall::cli
