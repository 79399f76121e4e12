// How a run comes to be held here: started, or adopted step by step. Part of Supervisor.
#include "actors/log.hpp"
#include "actors/supervisor.hpp"
#include "core/lease_term.hpp"
#include "formats/pipeline_file.hpp"

#include <exception>
#include <utility>

namespace stagecall {
namespace {

Error no_answer(const std::string& who) {
  return {ErrorCode::store_unavailable, "start a run: " + who + " has ended"};
}

}  // namespace

Supervisor::StartPromise Supervisor::start(const StartRequest& start_request) {
  auto promise = make_response_promise<StartResponse>();
  request(colleagues_.custodian, caf::infinite, WhatLacks{start_request.definition})
      .then([this, start_request,
             promise](const Lacking& lacking) { insert(start_request, promise, lacking.what); },
            [promise](const caf::error&) mutable {
              promise.deliver(StartResponse{tl::unexpected<Error>{no_answer("the custodian")}});
            });
  return promise;
}

/// Ours from its first term on, unless something is lacking: then it waits for a replica that has
/// it, this one too.
void Supervisor::insert(const StartRequest& start_request, StartPromise promise,
                        const std::string& lacking) {
  const PipelineSpec& spec = start_request.definition->spec();
  const PipelineState fresh{start_request.definition, settings_->slots};
  const WallTime now = settings_->clock->wall();
  const auto holder = lacking.empty() ? std::optional{settings_->self} : std::nullopt;
  const Decision decision = begin(fresh, holder, now);
  StartRun write{.pipeline = spec.name,
                 .definition = start_request.text,
                 .concurrent_runs = spec.concurrent_runs,
                 .request_id = start_request.request_id,
                 .holder = holder,
                 .at = now,
                 .events = decision.events,
                 .summary = {.state = decision.draft.run().state,
                             .nodes = decision.draft.run().counts,
                             .due_at = next_due(decision.draft, settings_->tick)}};
  request(colleagues_.store, caf::infinite, WriteRequest{std::move(write)})
      .then(
          [this, start_request, promise, lacking,
           events = decision.events](const WriteResponse& response) mutable {
            if (!response.reply) {
              // It may be there after all, and what this process writes shows in no data version.
              survey_whole_ = true;
              promise.deliver(StartResponse{tl::unexpected<Error>{response.reply.error()}});
              return;
            }
            const auto& reply = std::get<RunStartedReply>(*response.reply);
            promise.deliver(StartResponse{reply});
            if (is_terminal(reply.row.summary.state)) {
              return;
            }
            joined_.insert(reply.row.run);
            if (!reply.created) {
              survey(true);
            } else if (lacking.empty()) {
              started(start_request, reply, std::move(events));
            } else {
              log().warn("run_waits run={} lacking={}", reply.row.run.text(), lacking);
              settings_->nudge({}, reply.row.run.text());
              survey(true);
            }
          },
          [promise](const caf::error&) mutable {
            promise.deliver(StartResponse{tl::unexpected<Error>{no_answer("the store's actor")}});
          });
}

/// The run is durable and ours by its first term; its lease follows.
void Supervisor::started(const StartRequest& start_request, const RunStartedReply& reply,
                         std::vector<Event> events) {
  ++counters_["started"];
  adopting_.insert(reply.row.run);
  request(colleagues_.lock_manager, caf::infinite, AcquireLease{reply.row.run})
      .then(
          [this, definition = start_request.definition, events = std::move(events),
           row = reply.row](const LeaseResponse& response) {
            if (!response.trust) {
              if (not_leased(row.run, response.trust.error())) {
                note_parked(row.run, row.term, response.trust.error().message);
              }
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

void Supervisor::adopt(const LiveRun& run) {
  const auto judged = lacking_.find(run.definition);
  if (judged == lacking_.end()) {
    judge_fitness(run);
  } else if (judged->second.empty()) {
    acquire(run);
  }
}

/// Step one, once for each definition: whether the executors here can run it.
void Supervisor::judge_fitness(const LiveRun& run) {
  adopting_.insert(run.run);
  request(colleagues_.store, caf::infinite, LoadDefinition{run.definition})
      .then(
          [this, run](const DefinitionResponse& response) {
            if (!response.text) {
              load_failed(run.run, response.text.error());
            } else if (auto shared = definition(run.definition, *response.text)) {
              judged(run, std::move(shared));
            } else {
              quarantine(run.run, "its definition cannot be read");
            }
          },
          [this, run](const caf::error&) { give_up(run.run, "the store did not answer"); });
}

void Supervisor::judged(const LiveRun& run, std::shared_ptr<const Definition> definition) {
  request(colleagues_.custodian, caf::infinite, WhatLacks{definition})
      .then(
          [this, run, definition](const Lacking& lacking) {
            adopting_.erase(run.run);
            lacking_[run.definition] = lacking.what;
            if (!lacking.what.empty()) {
              log().info("run_not_fit run={} lacking={}", run.run.text(), lacking.what);
            } else if (may_adopt(run.run)) {
              adopt(run);
            }
          },
          [this, run](const caf::error&) { give_up(run.run, "the custodian has ended"); });
}

/// Step two: the lease. Held elsewhere is no error.
void Supervisor::acquire(const LiveRun& run) {
  adopting_.insert(run.run);
  request(colleagues_.lock_manager, caf::infinite, AcquireLease{run.run})
      .then(
          [this, run](const LeaseResponse& response) {
            if (response.trust) {
              unleased_.erase(run.run);
              open_term(run.run, run.term, *response.trust);
              return;
            }
            adopting_.erase(run.run);
            const bool is_news = not_leased(run.run, response.trust.error());
            // Of what somebody may hold it would be untrue.
            if (is_news && (run.owner.empty() || run.owner == settings_->self.incarnation)) {
              note_parked(run.run, run.term, response.trust.error().message);
            }
          },
          [this, run](const caf::error&) { give_up(run.run, "the lease store did not answer"); });
}

/// True: the lease store cannot be asked, which was not known of this run.
bool Supervisor::not_leased(const RunId& run, const Error& error) {
  const bool is_held = error.code == ErrorCode::lease_busy;
  ++counters_[is_held ? "held_elsewhere" : "lease_unavailable"];
  log().debug("run_skipped run={} reason=\"{}\"", run.text(), error.message);
  if (is_held) {
    unleased_.erase(run);
    return false;
  }
  return unleased_.insert_or_assign(run, error.message).second;
}

/// Step three: the term, on what was read before the lease was asked for.
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

/// Step four: the history.
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
    quarantine(run, error.message);
    return;
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
    quarantine(id, "its definition cannot be read");
    return;
  }
  ++counters_["adopted"];
  log().info("run_adopted run={} term={}", id.text(), term.value);
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
    log().error("definition_unreadable hash={} error=\"{}\"", hash, read.error().message);
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
    quarantine(run, exception.what());
    return;
  }
  monitor(actor);
  runs_[run] = actor;
  run_of_[actor.id()] = run;
  trace_count("live runs", runs_.size());
}

/// Left alone from now on: nobody here could go on with it.
void Supervisor::quarantine(const RunId& run, const std::string& reason) {
  broken_.emplace(run, reason);
  give_up(run, reason);
}

void Supervisor::give_up(const RunId& run, const std::string& reason) {
  log().info("run_not_adopted run={} reason=\"{}\"", run.text(), reason);
  adopting_.erase(run);
  survey_whole_ = true;  // what is known of it may be out of date
  send(colleagues_.lock_manager, ReleaseLease{run, draining_});
}

}  // namespace stagecall
