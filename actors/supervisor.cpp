#include "actors/supervisor.hpp"

#include "actors/log.hpp"

#include <caf/system_messages.hpp>

#include <utility>

namespace stagecall {
namespace {

Error no_answer() {
  return {ErrorCode::store_unavailable, "reach a run's inbox: the store's actor has ended"};
}

}  // namespace

Supervisor::Supervisor(caf::actor_config& config, Colleagues colleagues, SharedSettings settings,
                       RunLeftCallback on_run_left)
    : Observed(config),
      colleagues_(std::move(colleagues)),
      settings_(std::move(settings)),
      on_run_left_(std::move(on_run_left)) {
  set_down_handler([this](caf::down_msg& down) { forget(down.source); });
}

void Supervisor::on_exit() {
  for (const auto& [run, actor] : runs_) {
    send_exit(actor, caf::exit_reason::user_shutdown);
  }
  runs_.clear();
  colleagues_ = Colleagues{};
}

Supervisor::behavior_type Supervisor::make_behavior() {
  survey(true);
  arm();
  return {
      [this](const Describe&) {
        auto counters = counters_;
        counters["runs"] = runs_.size();
        return insight(std::move(counters));
      },
      [this](const StartRequest& request) { return start(request); },
      [this](const JoinRun& request) { join(request.run); },
      [this](const InboxRequest& request) { return put_inbox(request); },
      [this](const ConditionOf& request) { return condition(request.run); },
      [this](const ListRuns&) {
        return RunList{{runs_.begin(), runs_.end()}};
      },
      [this](const Nudged& nudge) { nudged(nudge.text); },
      [this](const RunLeft& news) { left(news); },
      [this](const RunParked& news) { parked(news); },
      [this](const TasksChanged&) {
        lacking_.clear();
        survey(true);
      },
      [this](const Tick&) {
        std::erase_if(definitions_, [](const auto& each) { return each.second.expired(); });
        survey(std::exchange(survey_whole_, false));
        arm();
      },
      [this](const Drain& request) { drain(request); },
  };
}

void Supervisor::arm() {
  delayed_send(this, settings_->tick, Tick{});
}

Supervisor::InboxPromise Supervisor::put_inbox(const InboxRequest& inbox_request) {
  auto promise = make_response_promise<InboxRequestResponse>();
  PutInbox put{.run = inbox_request.run,
               .request_id = inbox_request.request_id,
               .message = inbox_request.message,
               .at = settings_->clock->wall()};
  request(colleagues_.store, caf::infinite, WriteRequest{std::move(put)})
      .then(
          [this, run = inbox_request.run, promise](const WriteResponse& response) mutable {
            if (!response.reply) {
              promise.deliver(InboxRequestResponse{tl::unexpected<Error>{response.reply.error()}});
              return;
            }
            const auto& reply = std::get<InboxReply>(*response.reply);
            if (const auto held = runs_.find(run); held != runs_.end()) {
              send(held->second, LookIntoInbox{});
            } else if (reply.is_stored()) {
              settings_->nudge(reply.owner, run.text());
            }
            promise.deliver(InboxRequestResponse{reply});
          },
          [promise](const caf::error&) mutable {
            promise.deliver(InboxRequestResponse{tl::unexpected<Error>{no_answer()}});
          });
  return promise;
}

void Supervisor::join(const RunId& run) {
  joined_.insert(run);
  survey(true);
}

void Supervisor::survey(bool whole) {
  request(colleagues_.store, caf::infinite, SurveyRequest{whole})
      .then(
          [this](const SurveyResponse& response) {
            if (response.survey) {
              take(*response.survey);
            } else {
              survey_failed(response.survey.error().message);
            }
          },
          [this](const caf::error&) { survey_failed("no answer"); });
}

/// It may have been meant to read what has not changed since: the next one does.
void Supervisor::survey_failed(const std::string& cause) {
  log().warn("survey_failed error=\"{}\"", cause);
  survey_whole_ = true;
}

void Supervisor::take(const Survey& survey) {
  for (const RunId& run : survey.with_inbox) {
    if (const auto held = runs_.find(run); held != runs_.end()) {
      send(held->second, LookIntoInbox{});
    }
  }
  if (survey.read) {
    foreign_.clear();
    for (const LiveRun& run : survey.live) {
      // One that is being adopted as well: if that fails, it is looked for again.
      if (!runs_.contains(run.run)) {
        foreign_.emplace(run.run, run);
      }
    }
    std::erase_if(unleased_, [this](const auto& run) { return !foreign_.contains(run.first); });
    if (lacking_.size() > survey.live.size()) {
      lacking_.clear();  // judged again when needed
    }
  }
  // A holder may die without a trace in the store: each look asks for the lease again.
  for (const auto& [id, run] : foreign_) {
    if (may_adopt(id)) {
      adopt(run);
    }
  }
}

bool Supervisor::may_adopt(const RunId& run) const {
  const bool wanted = settings_->adopts_all || joined_.contains(run);
  const bool known = runs_.contains(run) || adopting_.contains(run) || broken_.contains(run);
  return wanted && !known && !draining_;
}

void Supervisor::left(const RunLeft& news) {
  const RunId& run = news.status.run;
  if (!news.reason.empty()) {
    log().info("run_left run={} reason=\"{}\"", run.text(), news.reason);
  }
  send(colleagues_.lock_manager, ReleaseLease{run, draining_ && !news.reason.empty()});
  survey_whole_ = true;
  counters_["handed_over"] += draining_ && !news.reason.empty() ? 1U : 0U;
  if (news.is_broken) {
    broken_.emplace(run, news.reason);
  }
  if (news.reason.empty()) {
    joined_.erase(run);
    ++counters_["ended"];
  }
  if (on_run_left_) {
    on_run_left_(news);
  }
}

void Supervisor::forget(const caf::actor_addr& actor) {
  const auto found = run_of_.find(actor.id());
  if (found == run_of_.end()) {
    return;
  }
  runs_.erase(found->second);
  parked_.erase(found->second);
  run_of_.erase(found);
  trace_count("live runs", runs_.size());
}

void Supervisor::parked(const RunParked& news) {
  if (news.reason.empty()) {
    parked_.erase(news.run);
  } else if (runs_.contains(news.run)) {
    parked_[news.run] = news.reason;
  }
  note_parked(news.run, news.term, news.reason);
}

/// For who asks the store alone. That it is not noted changes nothing for the run.
void Supervisor::note_parked(const RunId& run, Term term, const std::string& reason) {
  request(colleagues_.store, caf::infinite, WriteRequest{NoteParked{run, term, reason}})
      .then([](const WriteResponse&) {}, [](const caf::error&) {});
}

Condition Supervisor::condition(const RunId& run) const {
  const auto held = runs_.find(run);
  const auto& waits = held == runs_.end() ? unleased_ : parked_;
  const auto parked = waits.find(run);
  const auto broken = broken_.find(run);
  const auto foreign = foreign_.find(run);
  const auto lacking =
      foreign == foreign_.end() ? lacking_.end() : lacking_.find(foreign->second.definition);
  return {.actor = held == runs_.end() ? PipelineHandle{} : held->second,
          .parked = parked == waits.end() ? std::string{} : parked->second,
          .quarantined = broken == broken_.end() ? std::string{} : broken->second,
          .lacking = lacking == lacking_.end() ? std::string{} : lacking->second};
}

/// Some other process changed something of this run, or of some run.
void Supervisor::nudged(const std::string& text) {
  ++counters_["nudges"];
  const auto run = RunId::parse(text);
  if (const auto held = run ? runs_.find(*run) : runs_.end(); held != runs_.end()) {
    send(held->second, LookIntoInbox{});
  } else {
    survey(true);
  }
}

void Supervisor::drain(const Drain& request) {
  draining_ = true;
  send(colleagues_.custodian, request);
  for (const auto& [run, actor] : runs_) {
    send(actor, request);
  }
}

}  // namespace stagecall
