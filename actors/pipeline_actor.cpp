#include "actors/pipeline_actor.hpp"

#include "actors/log.hpp"
#include "core/append_remedy.hpp"
#include "core/due_without_lease.hpp"
#include "core/invariants.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <utility>

namespace stagecall {
namespace {

Duration phase_of(const RunId& run, Duration tick) {
  return Duration{static_cast<std::int64_t>(std::hash<RunId>{}(run) %
                                            static_cast<std::uint64_t>(tick.count())) +
                  1};
}

/// News that only informs: recorded with the next pass, or a little later.
bool can_wait(const Input& input) {
  const auto* report = std::get_if<ReportInput>(&input);
  return report != nullptr && (std::holds_alternative<SaysRunning>(report->news) ||
                               std::holds_alternative<SaysProgress>(report->news));
}

}  // namespace

PipelineActor::PipelineActor(caf::actor_config& config, HeldRun held, Colleagues colleagues,
                             SupervisorHandle supervisor, SharedSettings settings)
    : Observed(config),
      run_(held.row.run),
      term_(held.term),
      state_(std::move(held.definition), settings->slots),
      passes_(held.row.summary.passes),
      colleagues_(std::move(colleagues)),
      supervisor_(std::move(supervisor)),
      settings_(std::move(settings)),
      trace_(tracer(), run_),
      wall_anchor_(settings_->clock->wall()),
      boot_anchor_(settings_->clock->boot()),
      trusted_until_(held.trusted_until),
      tick_due_(boot_anchor_ + phase_of(run_, settings_->tick)) {
  for (const StoredPass& stored : held.history) {
    if (auto objection = state_.try_apply(stored.pass)) {
      fold_objection_ = "pass " + std::to_string(stored.pass.seq.value) +
                        " of its history does not follow: " + *objection;
      return;
    }
  }
  if (!held.term_recorded) {
    pending_.push_back(TermInput{settings_->self});
  }
}

/// The replica's detached actors must not be kept by a run that has left: an engine's end waits for
/// the last handle to them.
void PipelineActor::on_exit() {
  colleagues_ = Colleagues{};
  supervisor_ = SupervisorHandle{};
  trace_.ends();
}

/// What the pass had in hand is lost here, but not in the store: whoever comes next folds it.
void PipelineActor::after_exception(const std::string& text) {
  flight_.reset();
  leave("exception: " + text);
}

PipelineActor::behavior_type PipelineActor::make_behavior() {
  start();
  return {
      [this](const Describe&) { return describe(); },
      [this](const Tick& message) { tick(message); },
      [this](const SlotsGranted& grant) {
        slots_granted_ += grant.slots;
        demand_told_.reset();  // the broker lowered it by what it granted
        want_pass(Cause::event);
      },
      [this](const SlotsContended& news) { slots_contended_ = news.others_wait; },
      [this](const Reports& batch) { take_reports(batch.reports); },
      [this](const LookIntoInbox&) { look_into_inbox(); },
      [this](const TrustRenewed& trust) {
        trusted_until_ = trust.until;
        if (std::exchange(parked_, false)) {
          log().debug("run_resumed run={}", run_.text());
          send(supervisor_, RunParked{run_, term_, {}});
          pass();
        }
      },
      [this](const LeaseGone&) { leave("its lease is gone"); },
      [this](const Drain&) {
        draining_ = true;
        leave_if_done();
      },
      [this](const ViewRequest&) { return view(); },
  };
}

void PipelineActor::start() {
  trace_.begins(number(), term_);
  if (fold_objection_) {
    left_ = true;
    send(supervisor_, RunLeft{status(), *fold_objection_, true});
    quit();
    return;
  }
  send(colleagues_.custodian, AttachRun{run_, this});
  send(colleagues_.lock_manager, WatchLease{run_, this});
  // What has come before there was an actor to tell counts first: a stop lets nothing start.
  look_into_inbox();
  want_pass(Cause::event);
  arm();
}

/// Now, as this term counts it: a wall clock that is set meanwhile changes no deadline.
WallTime PipelineActor::now() const {
  return wall_anchor_ + (settings_->clock->boot() - boot_anchor_);
}

void PipelineActor::want_pass(Cause cause) {
  pass_wanted_ = true;
  if (cause == Cause::event) {
    pending_cause_ = Cause::event;
  }
  pass();
}

/// Decides over everything that is pending. What arrives while a commit is awaited joins the next
/// pass, which the commit starts.
void PipelineActor::pass() {
  if (!inbox_seen_ || flight_ || left_ ||
      (!pass_wanted_ && pending_.empty() && pending_consumed_.empty())) {
    return;
  }
  if (settings_->clock->boot() >= trusted_until_) {
    park();
    return;
  }
  pending_due_ = BootTime::max();
  pass_wanted_ = false;
  std::vector<Input> inputs = std::exchange(pending_, {});
  if (std::exchange(tick_pending_, false)) {
    inputs.push_back(TickInput{});
  }
  Decision decision =
      decide(state_, inputs, {.now = now(), .slots = allowance(), .random = settings_->random()});
  Flight flight{.decision = std::move(decision),
                .inputs = std::move(inputs),
                .consumed = std::exchange(pending_consumed_, {}),
                .slots_granted = slots_granted_};
  const Cause cause = std::exchange(pending_cause_, Cause::tick);
  ++(cause == Cause::tick ? passes_.tick : passes_.event);
  ticked_ = ticked_ || cause == Cause::tick;
  if (ticked_) {
    tick_due_ = settings_->clock->boot() + settings_->tick;
  }
  if (!is_to_be_written(flight.decision) && flight.consumed.empty()) {
    carry_out(flight.decision.effects);
    balance_slots(flight.slots_granted);
    leave_if_done();
    arm();
  } else {
    commit(std::move(flight));
  }
}

SlotAllowance PipelineActor::allowance() const {
  return draining_ ? SlotAllowance{0, false} : SlotAllowance{slots_granted_, !slots_contended_};
}

RunSummary PipelineActor::summary_of(const Draft& draft) const {
  RunSummary summary{.state = draft.run().state,
                     .nodes = draft.run().counts,
                     .passes = passes_,
                     .due_at = next_due(draft, settings_->tick)};
  if (is_terminal(summary.state)) {
    summary.ended_at = draft.run().ended_at;
  }
  return summary;
}

void PipelineActor::commit(Flight flight) {
  flight_ = std::move(flight);
  const Draft& draft = flight_->decision.draft;
  AppendPass append{.run = run_,
                    .term = term_,
                    .previous = state_.run().last_seq,
                    .at = draft.at(),
                    .events = flight_->decision.events,
                    .outputs = flight_->decision.outputs,
                    .consumed = flight_->consumed,
                    .summary = summary_of(draft),
                    .leftovers = flight_->decision.leftovers,
                    .confirmed = flight_->decision.confirmed};
  request(colleagues_.store, caf::infinite, WriteRequest{std::move(append)})
      .then([this](const WriteResponse& response) { committed(response.reply); },
            [this](const caf::error&) { read_back(); });
}

void PipelineActor::committed(const Result<Reply>& reply) {
  if (reply) {
    absorb(std::get<AppendReply>(*reply).last_seq);
    return;
  }
  const Error& error = reply.error();
  switch (after_failed_append(error.code)) {
    case AppendRemedy::read_back: read_back(); break;
    case AppendRemedy::retry:
      log().warn("append_failed run={} error=\"{}\"", run_.text(), error.message);
      retake_flight();
      hold_pending(kLimits.store_retry);
      break;
    case AppendRemedy::leave:
      flight_.reset();
      leave(error.message);
      break;
  }
}

/// The commit is durable: the state follows, then what the decision wished.
void PipelineActor::absorb(Seq seq) {
  const Flight flight = *std::exchange(flight_, std::nullopt);
  trace_.recorded(flight.decision.events, state_, now());
  state_.absorb(flight.decision.draft, seq, term_);
  assert(state_.size() > 256 || broken_invariants(state_).empty());
  carry_out(flight.decision.effects);
  balance_slots(flight.slots_granted);
  leave_if_done();
  if (std::exchange(inbox_again_, false)) {
    look_into_inbox();
  }
  if (pass_wanted_ || !std::all_of(pending_.begin(), pending_.end(), can_wait)) {
    pass();
  }
  arm();
}

/// Nothing of the decision was recorded: its inputs wait for the next pass.
void PipelineActor::retake_flight() {
  Flight flight = *std::exchange(flight_, std::nullopt);
  tick_pending_ = tick_pending_ || std::erase(flight.inputs, Input{TickInput{}}) > 0;
  pass_wanted_ = true;
  pending_.insert(pending_.begin(), std::make_move_iterator(flight.inputs.begin()),
                  std::make_move_iterator(flight.inputs.end()));
  pending_consumed_.insert(pending_consumed_.begin(), flight.consumed.begin(),
                           flight.consumed.end());
  pending_cause_ = Cause::event;
}

/// What is pending gets its pass by then, if nothing else brings one before.
void PipelineActor::hold_pending(Duration wait) {
  pending_due_ = std::min(pending_due_, settings_->clock->boot() + wait);
  arm();
}

/// The append may or may not be durable: the store knows.
void PipelineActor::read_back() {
  request(colleagues_.store, caf::infinite, ReadRow{run_})
      .then([this](const RowResponse& response) { settle_doubt(response.row); },
            [this](const caf::error&) { leave("the store's actor has ended"); });
}

void PipelineActor::settle_doubt(const Result<RunRow>& row) {
  if (!row || row->term != term_) {
    leave(row ? "another term owns it" : row.error().message);
    return;
  }
  const Seq before = state_.run().last_seq;
  if (row->last_seq == before) {
    retake_flight();
    pass();
  } else {
    absorb(row->last_seq);
  }
}

void PipelineActor::take_reports(const std::vector<ReportInput>& reports) {
  trace_.reported(reports);
  const std::size_t before = pending_.size();
  std::copy_if(reports.begin(), reports.end(), std::back_inserter(pending_),
               [this](const ReportInput& report) { return !progress_.take(report, state_); });
  if (pending_.size() == before) {
    return;
  }
  pending_cause_ = Cause::event;
  if (std::all_of(pending_.begin(), pending_.end(), can_wait)) {
    hold_pending(kLimits.news_wait);
  } else {
    pass();
  }
}

void PipelineActor::look_into_inbox() {
  if (inbox_reading_ || flight_) {
    inbox_again_ = true;
    return;
  }
  inbox_reading_ = true;
  request(colleagues_.store, caf::infinite, ReadInbox{run_})
      .then([this](const InboxResponse& response) { inbox_read(response.rows); },
            [this](const caf::error&) {
              inbox_read(fail(ErrorCode::store_unavailable, "no answer"));
            });
}

/// What cannot be read now is looked at again with the next tick.
void PipelineActor::inbox_read(const Result<std::vector<InboxRow>>& rows) {
  inbox_reading_ = false;
  if (!rows) {
    inbox_again_ = true;
    return;
  }
  inbox_seen_ = true;
  if (!rows->empty()) {
    take_inbox(*rows);
  } else if (std::exchange(inbox_again_, false)) {
    look_into_inbox();
  } else if (pass_wanted_) {
    pass();
  }
}

/// Rows that were read before are in a pass that has not been committed yet, or in pending_.
void PipelineActor::take_inbox(const std::vector<InboxRow>& rows) {
  if (flight_) {
    inbox_again_ = true;
    return;
  }
  for (const InboxRow& row : rows) {
    if (std::find(pending_consumed_.begin(), pending_consumed_.end(), row.id) !=
        pending_consumed_.end()) {
      continue;
    }
    pending_consumed_.push_back(row.id);
    std::visit([this](const auto& message) { pending_.push_back(Input{message}); }, row.message);
  }
  inbox_again_ = inbox_again_ || rows.size() == kLimits.inbox_read_max;
  pending_cause_ = Cause::event;
  pass();
}

void PipelineActor::park() {
  if (!std::exchange(parked_, true)) {
    const std::string reason = "its lease is not trusted";
    log().debug("run_parked run={} reason=\"{}\"", run_.text(), reason);
    send(supervisor_, RunParked{run_, term_, reason});
  }
  carry_out(due_without_lease(state_, pending_, now(), settings_->self.incarnation));
  tick_due_ = settings_->clock->boot() + settings_->tick;
  balance_slots(slots_granted_);
  arm();
}

void PipelineActor::carry_out(const std::vector<Effect>& effects) {
  EffectOrders orders = orders_of(effects, order_context());
  const auto hand_over = [this](auto& order, bool is_empty) {
    if (!is_empty) {
      send(colleagues_.custodian, std::move(order));
    }
  };
  hand_over(orders.acknowledged, orders.acknowledged.items.empty());
  hand_over(orders.launches, orders.launches.launches.empty());
  hand_over(orders.cancels, orders.cancels.cancels.empty());
  hand_over(orders.queries, orders.queries.queries.empty());
}

OrderContext PipelineActor::order_context() const {
  return {.state = state_,
          .run = run_,
          .term = term_,
          .trusted_until = trusted_until_,
          .outputs = settings_->outputs};
}

/// No slot lies idle here: of those that the last pass could fill, what is free goes back, and what
/// is still wanted is said. Slots granted since then wait for the next pass.
void PipelineActor::balance_slots(std::uint32_t considered) {
  const bool wants = !draining_ && !parked_;
  const auto demand = wants ? state_.demand() : std::map<SlotClass, std::uint32_t>{};
  const std::uint32_t idle = considered - std::min(considered, state_.run().slots_busy);
  if (idle == 0 && demand == demand_told_) {
    return;
  }
  slots_granted_ -= idle;
  demand_told_ = demand;
  send(colleagues_.slot_broker, WantSlots{run_, this, demand, idle});
}

void PipelineActor::leave_if_done() {
  if (left_ || flight_) {
    return;
  }
  if (is_terminal(state_.run().state)) {
    leave({});
  } else if (draining_ && state_.run().slots_busy == 0) {
    leave("drained");
  }
}

void PipelineActor::leave(const std::string& reason) {
  if (!std::exchange(left_, true)) {
    withhold_launches();
    send(supervisor_, RunLeft{status(), reason});
    quit();
  }
}

/// The commit that is awaited may yet become durable; what follows from it does not happen here.
void PipelineActor::withhold_launches() {
  WithholdLaunches order{this, {}};
  for (const Effect& effect : flight_ ? flight_->decision.effects : std::vector<Effect>{}) {
    if (const auto* launch = std::get_if<LaunchEffect>(&effect)) {
      order.keys.push_back(
          attempt_key(order_context(), launch->node, launch->attempt, launch->nonce));
    }
  }
  if (!order.keys.empty()) {
    send(colleagues_.custodian, std::move(order));
  }
}

void PipelineActor::tick(const Tick& message) {
  if (message.generation != timer_generation_) {
    return;
  }
  const BootTime boot = settings_->clock->boot();
  trace_.ticked(boot - std::exchange(timer_due_, BootTime::max()));
  if (std::exchange(inbox_again_, false)) {
    look_into_inbox();
  }
  if (!inbox_seen_) {
    tick_due_ = boot + settings_->tick;
    arm();
    return;
  }
  const auto& deadlines = state_.deadlines();
  ticked_ = ticked_ || boot >= tick_due_;  // whatever the next pass is counted as
  const bool deadline_passed =
      state_.run().timeout_at <= now() || (!deadlines.empty() && deadlines.begin()->first <= now());
  if (deadline_passed || boot >= pending_due_) {
    tick_pending_ = true;
    want_pass(Cause::event);
  } else if (boot >= tick_due_) {
    tick_pending_ = true;
    want_pass(Cause::tick);
  }
  arm();
}

/// One timer at a time, set to the earliest of the tick, the next deadline, and news that waits. A
/// timer that is early for what is due by then is set again, so that passes cost no timers. While a
/// commit is awaited nothing can be done: what it leads to arms again.
void PipelineActor::arm() {
  if (left_ || flight_) {
    return;
  }
  const BootTime boot = settings_->clock->boot();
  const WallTime deadline =
      std::min(state_.run().timeout_at,
               state_.deadlines().empty() ? kNever : state_.deadlines().begin()->first);
  BootTime due = tick_due_;
  if (deadline != kNever && inbox_seen_ && (!parked_ || deadline > now())) {
    due = std::min(due, boot + std::max(Duration{0}, deadline - now()));
  }
  if (!parked_) {
    due = std::min(due, pending_due_);
  }
  due = std::max(due, boot + Duration{1});
  if (timer_due_ <= due && timer_due_ > boot) {
    return;
  }
  timer_due_ = due;
  delayed_send(this, due - boot, Tick{++timer_generation_});
}

}  // namespace stagecall
