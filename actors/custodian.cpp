#include "actors/custodian.hpp"

#include "messages/limits.hpp"
#include "platform/process.hpp"

#include <caf/system_messages.hpp>

#include <utility>

namespace stagecall {
namespace {

ReportInput input_of(const AttemptReport& report) {
  return {report.key.node, report.key.attempt, report.key.nonce, report.news};
}

AttemptReport refusal(const Launch& launch) {
  const auto* task = std::get_if<TaskAction>(&launch.node->action);
  const std::string what = task != nullptr ? "task \"" + task->name + '"' : "this command";
  return {launch.key,
          SaysEnded{{.kind = OutcomeKind::rejected, .error = "no executor here runs " + what}, {}}};
}

}  // namespace

Custodian::Custodian(caf::actor_config& config, std::vector<Executor*> executors, StoreHandle store,
                     SharedSettings settings)
    : Observed(config),
      executors_(std::move(executors)),
      store_(std::move(store)),
      settings_(std::move(settings)) {
  set_down_handler([this](caf::down_msg& down) {
    if (const auto found = run_of_.find(down.source.id()); found != run_of_.end()) {
      runs_.erase(found->second);
      run_of_.erase(found);
    }
  });
}

/// Runs' actors and this one hold each other: ended, it lets go, or neither is ever destroyed.
void Custodian::on_exit() {
  runs_.clear();
}

Custodian::behavior_type Custodian::make_behavior() {
  return {
      [this](const Describe&) {
        auto counters = counters_;
        counters["in_custody"] = custody_.size();
        return ActorDescription{"custodian", "custodian", handled(), std::move(counters)};
      },
      [this](const AttachRun& request) {
        runs_[request.run] = request.actor;
        run_of_[request.actor.id()] = request.run;
        monitor(request.actor);
      },
      [this](const LaunchOrder& order) { submit(order); },
      [this](const CancelOrder& order) { cancel(order); },
      [this](const QueryOrder& order) { query(order); },
      [this](const AcknowledgeOrder& order) { acknowledge(order); },
      [this](const ExecutorReports& reports) { route(reports); },
      [this](const Drain& drain) { delayed_send(this, drain.grace, Tick{}); },
      [this](const Tick&) { interrupt_all(); },
  };
}

Executor* Custodian::executor_of(const NodeSpec& node) const {
  for (Executor* executor : executors_) {
    if (executor->can_run(node)) {
      return executor;
    }
  }
  return nullptr;
}

void Custodian::submit(const LaunchOrder& order) {
  ByExecutor<Launch> batches;
  ExecutorReports refused;
  for (const Launch& launch : order.launches) {
    Executor* executor = executor_of(*launch.node);
    if (executor == nullptr) {
      refused.reports.push_back(refusal(launch));
      continue;
    }
    custody_[launch.key] = executor;
    batches[executor].push_back(launch);
  }
  counters_["launched"] += order.launches.size();
  for (auto& [executor, launches] : batches) {
    executor->submit(std::move(launches));
  }
  if (!refused.reports.empty()) {
    route(refused);
  }
}

void Custodian::cancel(const CancelOrder& order) {
  ByExecutor<Cancel> batches;
  for (const auto& [item, cancel] : order.cancels) {
    // What another incarnation launched is not ours to end: its own custodian or launcher does.
    Executor* executor = executor_of(*item.node);
    if (executor != nullptr && item.custodian.incarnation == settings_->self.incarnation) {
      batches[executor].push_back(cancel);
    }
  }
  for (auto& [executor, cancels] : batches) {
    executor->cancel(std::move(cancels));
  }
}

void Custodian::query(const QueryOrder& order) {
  ByExecutor<AttemptQuery> batches;
  ExecutorReports unknown;
  for (const CustodyItem& item : order.queries) {
    Executor* executor = executor_of(*item.node);
    const bool own = item.custodian.incarnation == settings_->self.incarnation;
    // While its process may live, only that process can tell.
    if (executor != nullptr && (own || liveness_of(item.custodian.process) == Liveness::gone)) {
      batches[executor].push_back({item.key, item.custodian.incarnation});
    } else {
      unknown.reports.push_back({item.key, SaysUnknown{}});
    }
  }
  for (auto& [executor, queries] : batches) {
    executor->query(std::move(queries));
  }
  if (!unknown.reports.empty()) {
    route(unknown);
  }
}

void Custodian::acknowledge(const AcknowledgeOrder& order) {
  ByExecutor<AttemptKey> batches;
  for (const CustodyItem& item : order.items) {
    custody_.erase(item.key);
    if (Executor* executor = executor_of(*item.node)) {
      batches[executor].push_back(item.key);
    }
  }
  for (auto& [executor, keys] : batches) {
    executor->acknowledge(std::move(keys));
  }
}

void Custodian::route(const ExecutorReports& reports) {
  std::unordered_map<RunId, Reports> by_run;
  for (const AttemptReport& report : reports.reports) {
    if (runs_.contains(report.key.run)) {
      by_run[report.key.run].reports.push_back(input_of(report));
    } else {
      to_inbox(report);
    }
  }
  for (auto& [run, batch] : by_run) {
    send(runs_.at(run), std::move(batch));
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
    spdlog::warn("report_not_stored key={} error=\"{}\"", report.key.text(), cause);
    delayed_send(this, settings_->tick, ExecutorReports{{report}});
  };
  request(store_, kLimits.store_timeout, WriteRequest{std::move(put)})
      .then(
          [this, again, key = report.key](const WriteResponse& response) {
            if (response.reply) {
              acknowledge_key(key);
              settings_->nudge(std::get<InboxReply>(*response.reply).owner, key.run.text());
            } else if (response.reply.error().code == ErrorCode::not_found) {
              acknowledge_key(key);  // pruned: nobody waits for it any more
            } else {
              again(response.reply.error().message);
            }
          },
          [again](const caf::error&) { again("the store did not answer"); });
}

void Custodian::acknowledge_key(const AttemptKey& key) {
  if (const auto found = custody_.find(key); found != custody_.end()) {
    found->second->acknowledge({key});
    custody_.erase(found);
  }
}

void Custodian::interrupt_all() {
  ByExecutor<Cancel> batches;
  for (const auto& [key, executor] : custody_) {
    batches[executor].push_back({.key = key, .reason = CancelReason::drain});
  }
  for (auto& [executor, cancels] : batches) {
    executor->cancel(std::move(cancels));
  }
}

}  // namespace stagecall
