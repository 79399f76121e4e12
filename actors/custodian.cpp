#include "actors/custodian.hpp"

#include "actors/log.hpp"
#include "messages/limits.hpp"
#include "platform/process.hpp"

#include <caf/system_messages.hpp>

#include <utility>

namespace stagecall {
namespace {

ReportInput input_of(const AttemptReport& report) {
  return {report.key.node, report.key.attempt, report.key.nonce, report.news};
}

std::string action_text(const NodeSpec& node) {
  const auto* task = std::get_if<TaskAction>(&node.action);
  return task != nullptr ? "task \"" + task->name + '"' : "this command";
}

Outcome refusal(const NodeSpec& node) {
  return {.kind = OutcomeKind::rejected, .error = "no executor here runs " + action_text(node)};
}

/// Whether this replica's executors may speak for an attempt: while another process may live that
/// launched it, only that one can tell. Looks at each process once.
class Authority {
 public:
  explicit Authority(const ReplicaIdentity& self) : known_{{self.incarnation, true}} {}

  bool covers(const ReplicaIdentity& custodian) {
    const auto [found, is_new] = known_.try_emplace(custodian.incarnation, false);
    if (is_new) {
      found->second = liveness_of(custodian) == Liveness::gone;
    }
    return found->second;
  }

 private:
  std::map<std::string, bool> known_;  // by incarnation
};

/// The contract says that executors do not throw; one that does spoils its own call only.
template <class Call>
void contained(const Executor& executor, Call call) {
  try {
    call();
  } catch (const std::exception& exception) {
    log().error("executor_exception executor={} text=\"{}\"", executor.name(), exception.what());
  }
}

}  // namespace

Custodian::Custodian(caf::actor_config& config, std::vector<Executor*> executors, StoreHandle store,
                     SharedSettings settings)
    : Observed(config),
      executors_(std::move(executors)),
      store_(std::move(store)),
      settings_(std::move(settings)) {
  set_down_handler([this](caf::down_msg& down) { detach(down.source); });
}

/// Runs' actors and this one hold each other: ended, it lets go, or neither is ever destroyed.
void Custodian::on_exit() {
  runs_.clear();
  store_ = StoreHandle{};
}

Custodian::behavior_type Custodian::make_behavior() {
  return {
      [this](const Describe&) {
        auto counters = counters_;
        auto& in_custody = counters["in_custody"];
        for (const auto& [run, attempts] : custody_) {
          in_custody += attempts.size();
        }
        return insight(std::move(counters));
      },
      [this](const WhatLacks& request) { return lacking(*request.definition); },
      [this](const AttachRun& request) { attach(request); },
      [this](const LaunchOrder& order) { submit(order); },
      [this](const WithholdLaunches& order) { withhold(order); },
      [this](const CancelOrder& order) { cancel(order); },
      [this](const QueryOrder& order) { query(order); },
      [this](const AcknowledgeOrder& order) { acknowledge(order); },
      [this](const ExecutorReports& reports) { route(reports); },
      [this](const Drain& drain) {
        draining_ = true;
        delayed_send(this, drain.grace, Tick{});
      },
      [this](const Tick&) { interrupt_all(); },
      [this](const Retire&) { return retire(); },
  };
}

/// What ends from now on is still recorded, in the runs' inboxes.
Retired Custodian::retire() {
  executors_.clear();
  for (auto& [run, attempts] : custody_) {
    for (auto& [key, custody] : attempts) {
      custody.executor = nullptr;
    }
  }
  return {};
}

void Custodian::attach(const AttachRun& request) {
  runs_[request.run] = request.actor;
  run_of_[request.actor.id()] = request.run;
  monitor(request.actor);
  route({kept_ends(request.run)});
}

/// What the actor was told and has not had recorded waits in the inbox for whoever comes next.
void Custodian::detach(const caf::actor_addr& actor) {
  const auto found = run_of_.find(actor.id());
  if (found == run_of_.end()) {
    return;
  }
  const RunId run = found->second;
  run_of_.erase(found);
  if (const auto attached = runs_.find(run);
      attached != runs_.end() && attached->second.address() == actor) {
    runs_.erase(attached);
    route({kept_ends(run)});
  }
}

std::vector<AttemptReport> Custodian::kept_ends(const RunId& run) const {
  std::vector<AttemptReport> ends;
  if (const auto attempts = custody_.find(run); attempts != custody_.end()) {
    for (const auto& [key, custody] : attempts->second) {
      if (custody.end) {
        ends.push_back({key, *custody.end});
      }
    }
  }
  return ends;
}

Executor* Custodian::executor_of(const NodeSpec& node) const {
  for (Executor* executor : executors_) {
    if (executor->can_run(node)) {
      return executor;
    }
  }
  return nullptr;
}

Lacking Custodian::lacking(const Definition& definition) const {
  Lacking lacking;
  for (const NodeIndex node : definition.actions()) {
    if (executor_of(definition.node(node)) == nullptr) {
      lacking.actions.push_back(node);
    }
  }
  if (!lacking.actions.empty()) {
    lacking.what = action_text(definition.node(lacking.actions.front()));
  }
  return lacking;
}

void Custodian::submit(const LaunchOrder& order) {
  ByExecutor<Launch> batches;
  ExecutorReports refused;
  for (const Launch& launch : order.launches) {
    Executor* executor = executor_of(*launch.node);
    Custody& custody = custody_[launch.key.run][launch.key];
    custody.executor = executor;
    custody.node = launch.node;
    if (executor == nullptr) {
      refused.reports.push_back({launch.key, SaysEnded{refusal(*launch.node), {}}});
    } else if (draining_) {
      refused.reports.push_back({launch.key, SaysEnded{{.kind = OutcomeKind::not_launched}, {}}});
    } else {
      batches[executor].push_back(launch);
    }
  }
  counters_["launched"] += order.launches.size() - refused.reports.size();
  for (auto& [executor, launches] : batches) {
    try {
      executor->submit(std::move(launches));
    } catch (const std::exception& exception) {
      submit_failed(order, *executor, exception.what());
    }
  }
  route(refused);
}

/// What it has launched before it threw is told to end; a word of it that comes first counts.
void Custodian::submit_failed(const LaunchOrder& order, Executor& executor,
                              const std::string& cause) {
  const std::string error = "executor " + std::string{executor.name()} + " threw: " + cause;
  log().error("executor_exception executor={} text=\"{}\"", executor.name(), cause);
  std::vector<Cancel> cancels;
  ExecutorReports failed;
  for (const Launch& launch : order.launches) {
    if (executor_of(*launch.node) == &executor) {
      cancels.push_back({launch.key, CancelReason::lost, launch.node->grace});
      failed.reports.push_back(
          {launch.key, SaysEnded{{.kind = OutcomeKind::failed, .error = error}, {}}});
    }
  }
  contained(executor, [&] { executor.cancel(std::move(cancels)); });
  route(failed);
}

void Custodian::withhold(const WithholdLaunches& order) {
  detach(order.actor.address());
  for (const AttemptKey& key : order.keys) {
    to_inbox({key, SaysEnded{{.kind = OutcomeKind::not_launched}, {}}});
  }
}

void Custodian::cancel(const CancelOrder& order) {
  ByExecutor<Cancel> batches;
  Authority authority{settings_->self};
  for (const auto& [item, cancel] : order.cancels) {
    Executor* executor = executor_of(*item.node);
    if (executor != nullptr && authority.covers(item.custodian)) {
      batches[executor].push_back(cancel);
    } else {
      ++counters_["cancels_out_of_reach"];
      log().warn("cancel_out_of_reach key={} custodian={}", item.key.text(),
                 item.custodian.replica);
    }
  }
  for (auto& [executor, cancels] : batches) {
    contained(*executor, [&, to = executor] { to->cancel(std::move(cancels)); });
  }
}

void Custodian::query(const QueryOrder& order) {
  ByExecutor<AttemptQuery> batches;
  ExecutorReports unknown;
  Authority authority{settings_->self};
  for (const CustodyItem& item : order.queries) {
    Executor* executor = executor_of(*item.node);
    if (executor != nullptr && authority.covers(item.custodian)) {
      batches[executor].push_back(
          {.key = item.key,
           .incarnation = item.custodian.incarnation,
           .is_own = item.custodian.incarnation == settings_->self.incarnation});
    } else {
      unknown.reports.push_back({item.key, SaysUnknown{}});
    }
  }
  for (auto& [executor, queries] : batches) {
    contained(*executor, [&, to = executor] { to->query(std::move(queries)); });
  }
  route(unknown);
}

void Custodian::acknowledge(const AcknowledgeOrder& order) {
  ByExecutor<AttemptKey> batches;
  for (const CustodyItem& item : order.items) {
    release(item.key);
    if (Executor* executor = executor_of(*item.node)) {
      batches[executor].push_back(item.key);
    }
  }
  for (auto& [executor, keys] : batches) {
    contained(*executor, [&, to = executor] { to->acknowledge(std::move(keys)); });
  }
}

/// The attempt's executor, no longer waited for; none if it was not launched here.
Executor* Custodian::release(const AttemptKey& key) {
  const auto attempts = custody_.find(key.run);
  if (attempts == custody_.end()) {
    return nullptr;
  }
  auto attempt = attempts->second.extract(key);
  if (attempts->second.empty()) {
    custody_.erase(attempts);
  }
  return attempt ? attempt.mapped().executor : nullptr;
}

void Custodian::route(const ExecutorReports& reports) {
  std::unordered_map<RunId, Reports> by_run;
  for (const AttemptReport& report : reports.reports) {
    if (runs_.contains(report.key.run)) {
      note_end(report);
      by_run[report.key.run].reports.push_back(input_of(report));
    } else {
      to_inbox(report);
    }
  }
  for (auto& [run, batch] : by_run) {
    send(runs_.at(run), std::move(batch));
  }
}

/// Also of one that is no longer waited for: until its run's actor has taken note, it is kept here.
void Custodian::note_end(const AttemptReport& report) {
  if (const auto* end = std::get_if<SaysEnded>(&report.news)) {
    Custody& custody = custody_[report.key.run][report.key];
    if (!custody.end) {
      custody.end = *end;
    }
  }
}

/// The end of an attempt whose run is held elsewhere. Once the row is there, or the run has ended,
/// the executor may forget; until then this is tried again.
void Custodian::to_inbox(const AttemptReport& report) {
  if (!std::holds_alternative<SaysEnded>(report.news)) {
    return;
  }
  ++counters_["to_inbox"];
  PutInbox put{.run = report.key.run,
               .request_id = report.key.text(),
               .message = input_of(report),
               .at = settings_->clock->wall()};
  const auto again = [this, report](const std::string& cause) {
    log().warn("report_not_stored key={} error=\"{}\"", report.key.text(), cause);
    delayed_send(this, settings_->tick, ExecutorReports{{report}});
  };
  request(store_, caf::infinite, WriteRequest{std::move(put)})
      .then(
          [this, again, key = report.key](const WriteResponse& response) {
            if (response.reply) {
              acknowledge_key(key);
              tell_holder(key.run, std::get<InboxReply>(*response.reply));
            } else if (response.reply.error().code == ErrorCode::not_found) {
              acknowledge_key(key);  // pruned: nobody waits for it any more
            } else {
              again(response.reply.error().message);
            }
          },
          [again](const caf::error&) { again("the store did not answer"); });
}

void Custodian::tell_holder(const RunId& run, const InboxReply& reply) {
  if (const auto held = runs_.find(run); held != runs_.end()) {
    send(held->second, LookIntoInbox{});
  } else if (reply.is_stored()) {
    settings_->nudge(reply.owner, run.text());
  }
}

/// An end that came after nobody waited for it: which executor told it is no longer known here, and
/// the others have nothing of this key.
void Custodian::acknowledge_key(const AttemptKey& key) {
  Executor* const known = release(key);
  for (Executor* executor : known != nullptr ? std::vector{known} : executors_) {
    contained(*executor, [&] { executor->acknowledge({key}); });
  }
}

void Custodian::interrupt_all() {
  ByExecutor<Cancel> batches;
  for (const auto& [run, attempts] : custody_) {
    for (const auto& [key, custody] : attempts) {
      if (custody.executor != nullptr && !custody.end) {
        batches[custody.executor].push_back({key, CancelReason::drain, custody.node->grace});
      }
    }
  }
  for (auto& [executor, cancels] : batches) {
    contained(*executor, [&, to = executor] { to->cancel(std::move(cancels)); });
  }
}

}  // namespace stagecall
