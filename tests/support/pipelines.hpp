// Builders of pipelines, and a driver that lives one run in the pure core: it feeds inputs to
// decide(), proves each pass as it goes and keeps the history, to be folded again from nothing.
// Faults are thrown, so that doctest and rapidcheck both report them.
#pragma once

#include "core/decide.hpp"
#include "core/history_check.hpp"
#include "core/invariants.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::testing {

using namespace std::chrono_literals;

inline NodeSpec node(std::string id, std::vector<std::string> after, Action action) {
  NodeSpec spec;
  spec.id = std::move(id);
  spec.after = std::move(after);
  spec.action = std::move(action);
  return spec;
}
inline NodeSpec task(std::string id, std::vector<std::string> after = {}) {
  return node(std::move(id), std::move(after), TaskAction{"noop"});
}
inline NodeSpec command(std::string id, std::vector<std::string> after = {}) {
  return node(std::move(id), std::move(after), CommandAction{{"true"}, CommandExecutor::process});
}
inline NodeSpec slurm(std::string id, std::vector<std::string> after = {}) {
  return node(std::move(id), std::move(after), CommandAction{{"true"}, CommandExecutor::slurm});
}
inline NodeSpec external(std::string id, std::vector<std::string> after = {}) {
  return node(std::move(id), std::move(after), ExternalAction{});
}
inline NodeSpec join(std::string id, std::vector<std::string> after = {}) {
  return node(std::move(id), std::move(after), JoinAction{});
}

inline PipelineSpec pipeline(std::vector<NodeSpec> nodes) {
  PipelineSpec spec;
  spec.name = "p";
  spec.nodes = std::move(nodes);
  return spec;
}

/// n0 → n1 → … ; `make` builds each node.
template <class Make>
PipelineSpec chain(std::size_t length, Make make) {
  std::vector<NodeSpec> nodes;
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<std::string> after;
    if (i > 0) {
      after.push_back("n" + std::to_string(i - 1));
    }
    nodes.push_back(make("n" + std::to_string(i), std::move(after)));
  }
  return pipeline(std::move(nodes));
}
inline PipelineSpec chain(std::size_t length) {
  return chain(length, task);
}
/// a → b, c → d.
inline PipelineSpec diamond() {
  return pipeline({task("a"), task("b", {"a"}), task("c", {"a"}), task("d", {"b", "c"})});
}
/// n0 … all wait for "root"; "end" waits for them all.
inline PipelineSpec fan(std::size_t width) {
  std::vector<NodeSpec> nodes{task("root")};
  std::vector<std::string> all;
  for (std::size_t i = 0; i < width; ++i) {
    all.push_back("n" + std::to_string(i));
    nodes.push_back(task(all.back(), {"root"}));
  }
  nodes.push_back(task("end", all));
  return pipeline(std::move(nodes));
}
/// `depth` layers of `width` nodes `lI_J`, each waiting for the whole layer before it.
inline PipelineSpec layers(std::size_t depth, std::size_t width) {
  std::vector<NodeSpec> nodes;
  std::vector<std::string> before;
  for (std::size_t layer = 0; layer < depth; ++layer) {
    std::vector<std::string> here;
    for (std::size_t i = 0; i < width; ++i) {
      here.push_back("l" + std::to_string(layer) + "_" + std::to_string(i));
      nodes.push_back(task(here.back(), before));
    }
    before = std::move(here);
  }
  return pipeline(std::move(nodes));
}

inline std::shared_ptr<const Definition> define(PipelineSpec spec) {
  auto definition = Definition::build(std::move(spec));
  if (!definition) {
    throw std::logic_error("a test's pipeline was refused: " + definition.error().message);
  }
  return *definition;
}

/// Milliseconds after an arbitrary epoch of the tests.
inline WallTime moment(std::int64_t milliseconds) {
  return WallTime{Duration{1'000'000'000 + milliseconds}};
}

inline ReplicaIdentity replica(const std::string& name) {
  return {.replica = name,
          .incarnation = name + "-incarnation",
          .process = {.host = "host-" + name, .boot_id = "boot", .pid = 1, .start_time = 1}};
}

inline Outcome succeeded() {
  return {};
}
inline Outcome failed(std::string error = "exit 1") {
  return {.kind = OutcomeKind::failed, .exit_code = 1, .error = std::move(error)};
}
inline Outcome of_kind(OutcomeKind kind) {
  return {.kind = kind};
}

/// In what two states of one run differ; empty = they are the same.
inline std::string difference(const PipelineState& a, const PipelineState& b) {
  if (a.run() != b.run()) {
    return "the run's record";
  }
  if (a.holders() != b.holders() || a.failures() != b.failures()) {
    return "holders or failures";
  }
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    if (a.node(NodeIndex{i}) != b.node(NodeIndex{i})) {
      return "the record of node " + a.spec(NodeIndex{i}).id;
    }
  }
  const bool same_indexes = a.ready() == b.ready() && a.demand() == b.demand() &&
                            a.deadlines() == b.deadlines() && a.open() == b.open();
  return same_indexes ? "" : "the derived indexes";
}

struct RunOptions {
  std::optional<ReplicaIdentity> holder = replica("a");
  std::uint32_t slots = 1'000'000;
  std::uint32_t slots_max = std::numeric_limits<std::uint32_t>::max();
  bool reuse = true;
  bool first_pass = true;              ///< fill the slots at once, as the engine does
  bool inspect = true;                 ///< invariants after each pass; costs the whole DAG
  std::vector<NodeCarried> carried{};  ///< of a rerun
};

class Run {
 public:
  explicit Run(PipelineSpec spec, RunOptions options = {})
      : options_(std::move(options)),
        definition_(define(std::move(spec))),
        state_(std::make_unique<PipelineState>(definition_, options_.slots_max)) {
    term_ = Term{options_.holder ? 1U : 0U};
    take(begin(*state_, options_.holder, now_, options_.carried));
    if (options_.first_pass) {
      pass({});
    }
  }

  // What is.
  const PipelineState& state() const { return *state_; }
  NodeIndex index(const std::string& id) const {
    const auto found = definition_->find(id);
    if (!found) {
      throw std::logic_error("no node " + id);
    }
    return *found;
  }
  const NodeRecord& record(const std::string& id) const { return state_->node(index(id)); }
  NodeState state_of(const std::string& id) const { return record(id).state; }
  RunState result() const { return state_->run().state; }
  std::uint32_t count(NodeState state) const {
    return state_->run().counts[static_cast<std::size_t>(state)];
  }
  WallTime now() const { return now_; }
  const std::vector<Pass>& history() const { return history_; }
  const std::shared_ptr<const Definition>& definition() const { return definition_; }
  /// Attempts handed out so far, of one node or in all.
  std::size_t launches(const std::string& id) const {
    const auto found = launches_.find(index(id));
    return found == launches_.end() ? 0 : found->second;
  }
  std::size_t launches() const {
    std::size_t sum = 0;
    for (const auto& [launched, number] : launches_) {
      sum += number;
    }
    return sum;
  }

  // What the last pass did.
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Effect>& effects() const { return effects_; }
  std::size_t touched() const { return touched_; }
  std::optional<WallTime> due() const { return due_; }
  template <class T>
  std::vector<T> effects_of() const {
    return only<T>(effects_);
  }
  template <class T>
  std::vector<T> events_of() const {
    return only<T>(events_);
  }

  const std::vector<AttemptMark>& confirmed() const { return confirmed_; }
  /// Of all passes.
  const std::vector<Leftover>& leftovers() const { return leftovers_; }

  // What happens.
  void advance(Duration by) { now_ += by; }
  void set_slots(std::uint32_t slots) { options_.slots = slots; }
  void set_reuse(bool reuse) { options_.reuse = reuse; }
  void pass(const std::vector<Input>& inputs) {
    take(decide(*state_, inputs, {now_, {options_.slots, options_.reuse}, ++random_}));
  }
  void tick() { pass({TickInput{}}); }
  void stop() { pass({StopInput{"asked"}}); }
  Input report_of(const std::string& id, AttemptNews news) const {
    return ReportInput{id, record(id).attempt, record(id).nonce, std::move(news)};
  }
  Input end_of(const std::string& id, Outcome outcome) const {
    return report_of(id, SaysEnded{std::move(outcome), {}});
  }
  void report(const std::string& id, AttemptNews news) { pass({report_of(id, std::move(news))}); }
  void end(const std::string& id, Outcome outcome) { pass({end_of(id, std::move(outcome))}); }
  void done(const std::string& id, Outcome outcome) {
    pass({NodeDoneInput{.node = id, .outcome = std::move(outcome)}});
  }
  void force(const std::string& id, Outcome outcome) {
    pass({NodeDoneInput{.node = id, .outcome = std::move(outcome), .force_reason = "because"}});
  }
  /// A new process takes over: all that it knows is the history.
  void restart(const ReplicaIdentity& holder, std::vector<Input> inbox = {}) {
    state_ = fold();
    term_.value += 1;
    inbox.insert(inbox.begin(), TermInput{holder});
    pass(inbox);
  }

  std::unique_ptr<PipelineState> fold() const {
    auto folded = std::make_unique<PipelineState>(definition_, options_.slots_max);
    for (const Pass& stored : history_) {
      folded->apply(stored);
    }
    return folded;
  }
  /// fold(history) = live state, and the history is clean.
  void prove() const {
    if (const std::string where = difference(*fold(), *state_); !where.empty()) {
      throw std::logic_error("the folded history differs from the live state: " + where);
    }
    HistoryCheck check{definition_};
    for (const Pass& stored : history_) {
      check.take(stored);
    }
    if (!check.violations().empty()) {
      throw std::logic_error("the history breaks a rule: " + check.violations().front().text);
    }
  }

 private:
  template <class T, class Variant>
  static std::vector<T> only(const std::vector<Variant>& all) {
    std::vector<T> chosen;
    for (const Variant& one : all) {
      if (const T* wanted = std::get_if<T>(&one)) {
        chosen.push_back(*wanted);
      }
    }
    return chosen;
  }

  void take(Decision decision) {
    Draft replay{*state_, now_};
    for (const Event& event : decision.events) {
      if (const auto objection = replay.objection(event)) {
        throw std::logic_error("decide() concluded what is not legal: " + *objection);
      }
      replay.apply(event);
    }
    due_ = next_due(decision.draft, Duration{5'000});
    touched_ = decision.draft.touched().size();
    events_ = std::move(decision.events);
    effects_ = std::move(decision.effects);
    confirmed_ = std::move(decision.confirmed);
    leftovers_.insert(leftovers_.end(), decision.leftovers.begin(), decision.leftovers.end());
    for (const Effect& effect : effects_) {
      if (const auto* launch = std::get_if<LaunchEffect>(&effect)) {
        ++launches_[launch->node];
      }
    }
    if (!events_.empty()) {
      history_.push_back({Seq{history_.size() + 1}, term_, now_, events_});
      state_->absorb(decision.draft, history_.back().seq, term_);
    }
    if (options_.inspect) {
      if (const auto broken = broken_invariants(*state_); !broken.empty()) {
        throw std::logic_error("a pass broke an invariant: " + broken.front());
      }
    }
  }

  RunOptions options_;
  std::shared_ptr<const Definition> definition_;
  std::unique_ptr<PipelineState> state_;  // replaced at a restart
  WallTime now_ = moment(0);
  Term term_;
  std::uint64_t random_ = 0;
  std::vector<Pass> history_;
  std::vector<Event> events_;
  std::vector<AttemptMark> confirmed_;
  std::vector<Leftover> leftovers_;
  std::vector<Effect> effects_;
  std::size_t touched_ = 0;
  std::optional<WallTime> due_;
  std::map<NodeIndex, std::size_t> launches_;
};

}  // namespace stagecall::testing
