// Asks all actors of an engine what they do, and waits only so long for those that are busy. Part
// of Engine::Body.
#include "actors/engine_body.hpp"
#include "actors/holder.hpp"
#include "formats/held_text.hpp"
#include "formats/insight_text.hpp"
#include "messages/limits.hpp"
#include "persistence/control_socket.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecall {
namespace {

/// All are asked before any answer is awaited: their waits run side by side.
class Inquiry {
 public:
  explicit Inquiry(caf::actor_system& system) : self_(system) {}

  template <class Handle>
  void ask(const Handle& actor, ActorInsight unless_answered) {
    unless_answered.is_busy = true;
    awaited_.emplace_back(
        [answer = self_->request(actor, kLimits.inspect_wait, Describe{}),
         unless_answered = std::move(unless_answered)](std::vector<ActorInsight>& all) mutable {
          answer.receive([&](ActorInsight& insight) { all.push_back(std::move(insight)); },
                         [&](const caf::error&) { all.push_back(std::move(unless_answered)); });
        });
  }

  RunList runs(const SupervisorHandle& supervisor) {
    RunList runs;
    self_->request(supervisor, kLimits.inspect_wait, ListRuns{})
        .receive([&runs](RunList& list) { runs = std::move(list); }, [](const caf::error&) {});
    return runs;
  }

  std::vector<ActorInsight> answers() {
    std::vector<ActorInsight> all;
    for (auto& await : awaited_) {
      await(all);
    }
    return all;
  }

 private:
  caf::scoped_actor self_;
  std::vector<std::function<void(std::vector<ActorInsight>&)>> awaited_;
};

/// None: it has ended, or is busy.
template <class Response, class Handle, class Request>
std::optional<Response> answer_of(const caf::scoped_actor& self, const Handle& actor,
                                  Request request) {
  std::optional<Response> answer;
  self->request(actor, kLimits.inspect_wait, std::move(request))
      .receive([&answer](Response& response) { answer = std::move(response); },
               [](const caf::error&) {});
  return answer;
}

}  // namespace

EngineInsight Engine::Body::inspect() {
  const ReplicaIdentity& self = settings_->self;
  Inquiry inquiry{*system_};
  RunList list = inquiry.runs(actors_->supervisor);
  EngineInsight engine{.replica = self.replica,
                       .pid = self.process.pid,
                       .runs = list.runs.size(),
                       .trace = trace_place()};
  inquiry.ask(actors_->supervisor, {.kind = "supervisor"});
  inquiry.ask(actors_->colleagues.store, {.kind = "store"});
  inquiry.ask(actors_->colleagues.lock_manager, {.kind = "lock_manager"});
  inquiry.ask(actors_->colleagues.slot_broker, {.kind = "slot_broker"});
  inquiry.ask(actors_->colleagues.custodian, {.kind = "custodian"});
  const std::size_t shown = std::min(list.runs.size(), kLimits.actors_listed_max);
  for (std::size_t i = 0; i < shown; ++i) {
    auto& [run, actor] = list.runs[i];
    inquiry.ask(actor, {.kind = "pipeline", .run = ActorInsight::Run{.run = run}});
  }
  engine.actors = inquiry.answers();
  return engine;
}

std::optional<RunView> Engine::Body::view(const RunId& run, const Condition& condition) {
  if (!condition.actor) {
    return std::nullopt;
  }
  const caf::scoped_actor self{*system_};
  const auto slots = answer_of<SlotsLeft>(self, actors_->colleagues.slot_broker, SlotsRequest{run});
  auto view = answer_of<RunView>(self, condition.actor, ViewRequest{});
  if (!slots || !view) {
    return std::nullopt;
  }
  view->status.parked = condition.parked;
  view->held.parked = condition.parked;
  view->held.slots_free += slots->free;
  view->held.slots_contended = slots->others_wait;
  return view;
}

std::optional<HeldView> Engine::Body::view_elsewhere(const RunRow& row) {
  return ask_holder(stores_->folder, row, clock_);
}

/// An empty answer: the line asks for nothing that there is here.
std::string Engine::Body::answer(const std::string& line) {
  if (line == "inspect") {
    return insight_text(inspect());
  }
  if (const auto run = asked_run(line)) {
    const auto held = view(*run, condition(*run));
    return held ? held_text(held->held) : std::string{};
  }
  return answer_trace(line);
}

Result<void> Engine::Body::open_control() {
  auto control = open_control_server(stores_->folder, settings_->self.incarnation, clock_,
                                     [this](const std::string& line) { return answer(line); });
  if (!control) {
    return tl::unexpected<Error>{std::move(control).error()};
  }
  control_ = *std::move(control);
  return {};
}

}  // namespace stagecall
