#include "actors/supervisor.hpp"

#include "core/lease_term.hpp"
#include "formats/pipeline_file.hpp"

#include <caf/system_messages.hpp>

#include <exception>
#include <utility>

namespace stagecall {
namespace {

Error no_answer(const std::string& what) {
  return {ErrorCode::store_unavailable, what + ": the store's actor has ended"};
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
}

Supervisor::behavior_type Supervisor::make_behavior() {
  survey(true);
  arm();
  return {
      [this](const Describe&) {
        auto counters = counters_;
        counters["runs"] = runs_.size();
        return ActorDescription{"supervisor", "supervisor", handled(), std::move(counters)};
      },
      [this](const StartRequest& request) { return start(request); },
      [this](const JoinRun& request) { join(request.run); },
      [this](const InboxRequest& request) { return put_inbox(request); },
      [this](const Nudged& nudge) { nudged(nudge.text); },
      [this](const RunLeft& news) { left(news); },
      [this](const Tick&) {
        std::erase_if(definitions_, [](const auto& each) { return each.second.expired(); });
        survey(std::exchange(survey_whole_, false));
        arm();
      },
      [this](const Drain& request) { drain(request); },
      [this](const ListRuns&) {
        return RunList{{runs_.begin(), runs_.end()}};
      },
  };
}

void Supervisor::arm() {
  delayed_send(this, settings_->tick, Tick{});
}

Supervisor::StartPromise Supervisor::start(const StartRequest& start_request) {
  auto promise = make_response_promise<StartResponse>();
  const PipelineSpec& spec = start_request.definition->spec();
  const PipelineState fresh{start_request.definition, settings_->slots};
  const WallTime now = settings_->clock->wall();
  const Decision decision = begin(fresh, settings_->self, now);
  StartRun write{.pipeline = spec.name,
                 .definition = start_request.text,
                 .concurrent_runs = spec.concurrent_runs,
                 .request_id = start_request.request_id,
                 .holder = settings_->self,
                 .at = now,
                 .events = decision.events,
                 .summary = {.state = decision.draft.run().state,
                             .nodes = decision.draft.run().counts,
                             .due_at = next_due(decision.draft, settings_->tick)}};
  request(colleagues_.store, caf::infinite, WriteRequest{std::move(write)})
      .then(
          [this, start_request, promise,
           events = decision.events](const WriteResponse& response) mutable {
            if (!response.reply) {
              promise.deliver(StartResponse{tl::unexpected<Error>{response.reply.error()}});
            } else {
              const auto& reply = std::get<RunStartedReply>(*response.reply);
              promise.deliver(StartResponse{reply});
              started(start_request, reply, std::move(events));
            }
          },
          [promise](const caf::error&) mutable {
            promise.deliver(StartResponse{tl::unexpected<Error>{no_answer("start a run")}});
          });
  return promise;
}

/// The run is durable and ours by its first term; its lease follows.
void Supervisor::started(const StartRequest& start_request, RunStartedReply reply,
                         std::vector<Event> events) {
  if (!reply.created) {
    return;
  }
  ++counters_["started"];
  adopting_.insert(reply.row.run);
  joined_.insert(reply.row.run);
  request(colleagues_.lock_manager, caf::infinite, AcquireLease{reply.row.run})
      .then(
          [this, definition = start_request.definition, events = std::move(events),
           row = reply.row](const LeaseResponse& response) {
            if (!response.trust) {
              give_up(row.run, response.trust.error().message);
              return;
            }
            const Pass pass{row.last_seq, row.term, row.created_at, events};
            spawn_run({row,
                       {StoredPass{pass, row.last_checksum}},
                       definition,
                       row.term,
                       true,
                       response.trust->until});
          },
          [this, run = reply.row.run](const caf::error&) {
            give_up(run, "the lease store did not answer");
          });
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
            promise.deliver(
                InboxRequestResponse{tl::unexpected<Error>{no_answer("reach a run's inbox")}});
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
  spdlog::warn("survey_failed error=\"{}\"", cause);
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
      if (!runs_.contains(run.run) && !adopting_.contains(run.run)) {
        foreign_[run.run] = run.term;
      }
    }
  }
  // A holder may die without a trace in the store: each look asks for the lease again.
  for (const auto& [run, term] : foreign_) {
    if (may_adopt(run)) {
      adopt(run, term);
    }
  }
}

bool Supervisor::may_adopt(const RunId& run) const {
  const bool wanted = settings_->adopts_all || joined_.contains(run);
  const bool known = runs_.contains(run) || adopting_.contains(run) || broken_.contains(run);
  return wanted && !known && !draining_;
}

/// Step one: the lease. Held elsewhere is no error.
void Supervisor::adopt(const RunId& run, Term term_read) {
  adopting_.insert(run);
  request(colleagues_.lock_manager, caf::infinite, AcquireLease{run})
      .then(
          [this, run, term_read](const LeaseResponse& response) {
            if (response.trust) {
              open_term(run, term_read, *response.trust);
              return;
            }
            ++counters_[response.trust.error().code == ErrorCode::lease_busy ? "held_elsewhere"
                                                                             : "lease_unavailable"];
            spdlog::debug("run_skipped run={} reason=\"{}\"", run.text(),
                          response.trust.error().message);
            adopting_.erase(run);
          },
          [this, run](const caf::error&) { give_up(run, "the lease store did not answer"); });
}

/// Step two: the term, on what was read before the lease was asked for.
void Supervisor::open_term(const RunId& run, Term term_read, Trust trust) {
  if (!may_open_term(settings_->clock->boot(), trust.until, settings_->lease_ttl)) {
    give_up(run, "too little of its lease was left");
    return;
  }
  OpenTerm write{run, term_read, settings_->self};
  request(colleagues_.store, caf::infinite, WriteRequest{std::move(write)})
      .then(
          [this, run, trust](const WriteResponse& response) {
            if (response.reply) {
              load(run, std::get<TermReply>(*response.reply).term, trust);
            } else {
              give_up(run, response.reply.error().message);
            }
          },
          [this, run](const caf::error&) { give_up(run, "the store did not answer"); });
}

/// Step three: the history.
void Supervisor::load(const RunId& run, Term term, Trust trust) {
  request(colleagues_.store, caf::infinite, LoadRun{run})
      .then(
          [this, run, term, trust](const LoadRunResponse& response) {
            if (response.loaded) {
              loaded(*response.loaded, term, trust);
            } else {
              load_failed(run, response.loaded.error());
            }
          },
          [this, run](const caf::error&) { give_up(run, "the store did not answer"); });
}

void Supervisor::load_failed(const RunId& run, const Error& error) {
  if (error.code == ErrorCode::store_damaged) {
    broken_.insert(run);
  }
  give_up(run, error.message);
}

void Supervisor::loaded(LoadedRun run, Term term, Trust trust) {
  const RunId id = run.row.run;
  if (is_terminal(run.row.summary.state)) {
    give_up(id, "it has ended");
    return;
  }
  auto shared = definition(run.row.definition, run.definition);
  if (shared == nullptr) {
    broken_.insert(id);
    give_up(id, "its definition cannot be read");
    return;
  }
  ++counters_["adopted"];
  spdlog::info("run_adopted run={} term={}", id.text(), term.value);
  spawn_run(
      {std::move(run.row), std::move(run.history), std::move(shared), term, false, trust.until});
}

std::shared_ptr<const Definition> Supervisor::definition(const std::string& hash,
                                                         const std::string& text) {
  auto& cached = definitions_[hash];
  if (auto shared = cached.lock()) {
    return shared;
  }
  auto read = read_pipeline(text, {});
  if (!read) {
    spdlog::error("definition_unreadable hash={} error=\"{}\"", hash, read.error().message);
    return nullptr;
  }
  cached = *read;
  return *read;
}

void Supervisor::spawn_run(HeldRun held) {
  const RunId run = held.row.run;
  adopting_.erase(run);
  if (draining_) {
    give_up(run, "draining");
    return;
  }
  definitions_[held.row.definition] = held.definition;
  PipelineHandle actor;
  try {
    actor = spawn<PipelineActor>(std::move(held), colleagues_, SupervisorHandle{this}, settings_);
  } catch (const std::exception& exception) {
    broken_.insert(run);
    give_up(run, exception.what());
    return;
  }
  monitor(actor);
  runs_[run] = actor;
  run_of_[actor.id()] = run;
}

void Supervisor::give_up(const RunId& run, const std::string& reason) {
  spdlog::info("run_not_adopted run={} reason=\"{}\"", run.text(), reason);
  adopting_.erase(run);
  survey_whole_ = true;  // what is known of it may be out of date
  send(colleagues_.lock_manager, ReleaseLease{run, draining_});
}

void Supervisor::left(const RunLeft& news) {
  const RunId& run = news.status.run;
  if (!news.reason.empty()) {
    spdlog::info("run_left run={} reason=\"{}\"", run.text(), news.reason);
  }
  send(colleagues_.lock_manager, ReleaseLease{run, draining_ && !news.reason.empty()});
  survey_whole_ = true;
  if (news.is_broken) {
    broken_.insert(run);
  }
  if (news.reason.empty()) {
    joined_.erase(run);
    ++counters_["ended"];
  }
  on_run_left_(news);
}

void Supervisor::forget(const caf::actor_addr& actor) {
  const auto found = run_of_.find(actor.id());
  if (found == run_of_.end()) {
    return;
  }
  runs_.erase(found->second);
  run_of_.erase(found);
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
