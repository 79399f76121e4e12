// Which actor understands what: the typed interfaces and the messages that only actors exchange.
// All messages stay within the process. Requests between actors have no time-out of their own: CAF
// 0.17 keeps the timer of an answered request until it fires, and with it the actor that asked.
// What bounds them is the callee: store and lease store bound each call, and a dead actor answers
// at once with an error.
#pragma once

#include "core/definition.hpp"
#include "core/pipeline_state.hpp"
#include "messages/held_view.hpp"
#include "messages/inputs.hpp"
#include "persistence/store.hpp"
#include "stagecall/executor.hpp"
#include "stagecall/run.hpp"
#include "stagecall/trace.hpp"

#include <caf/actor_addr.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecall {

// ---- Every actor ----

/// Asks an actor to describe itself.
struct Describe {};
using Describes = caf::replies_to<Describe>::with<ActorInsight>;

// ---- store_actor ----

struct WriteRequest {
  Write write;
};
struct WriteResponse {
  Result<Reply> reply;
};
struct LoadRun {
  RunId run;
};
struct LoadedRun {
  RunRow row;
  std::vector<StoredPass> history;
  std::string definition;  ///< canonical text
};
struct LoadRunResponse {
  Result<LoadedRun> loaded;
};
struct LoadDefinition {
  DefinitionHash hash;
};
struct DefinitionResponse {
  Result<std::string> text;  ///< canonical
};
struct ReadRow {
  RunId run;
};
struct RowResponse {
  Result<RunRow> row;
};
struct ReadInbox {
  RunId run;
};
struct InboxResponse {
  Result<std::vector<InboxRow>> rows;
};
/// What the supervisor looks at each tick. Nothing is read while the store has not changed.
struct SurveyRequest {
  bool whole = false;  ///< read even if nothing has changed
};
struct Survey {
  bool read = false;  ///< false: nothing has changed, the lists were not read
  std::vector<LiveRun> live;
  std::vector<RunId> with_inbox;
};
struct SurveyResponse {
  Result<Survey> survey;
};
/// To itself: write what has gathered.
struct Flush {};

using StoreHandle =
    caf::typed_actor<Describes, caf::replies_to<WriteRequest>::with<WriteResponse>,
                     caf::replies_to<LoadRun>::with<LoadRunResponse>,
                     caf::replies_to<LoadDefinition>::with<DefinitionResponse>,
                     caf::replies_to<ReadRow>::with<RowResponse>,
                     caf::replies_to<ReadInbox>::with<InboxResponse>,
                     caf::replies_to<SurveyRequest>::with<SurveyResponse>, caf::reacts_to<Flush>>;

// ---- pipeline_actor ----

/// Time for a look; stale unless it is the newest one.
struct Tick {
  std::uint64_t generation = 0;
};
struct SlotsGranted {
  std::uint32_t slots = 0;
};
/// Whether others wait for slots: then freed ones are given back instead of filled again.
struct SlotsContended {
  bool others_wait = false;
};
struct Reports {
  std::vector<ReportInput> reports;
};
/// The run's durable inbox may hold something.
struct LookIntoInbox {};
struct TrustRenewed {
  BootTime until;
};
struct LeaseGone {};
/// Start nothing more; end once nothing runs here.
struct Drain {
  Duration grace{0};  ///< how long local attempts may go on
};
struct ViewRequest {};
struct RunView {
  RunStatus status;
  HeldView held{};  ///< slots_free: those that lie idle with the run
};

using PipelineHandle = caf::typed_actor<
    Describes, caf::reacts_to<Tick>, caf::reacts_to<SlotsGranted>, caf::reacts_to<SlotsContended>,
    caf::reacts_to<Reports>, caf::reacts_to<LookIntoInbox>, caf::reacts_to<TrustRenewed>,
    caf::reacts_to<LeaseGone>, caf::reacts_to<Drain>, caf::replies_to<ViewRequest>::with<RunView>>;

// ---- lock_manager ----

struct AcquireLease {
  RunId run;
};
struct LeaseResponse {
  Result<Trust> trust;  ///< lease_busy, lease_unavailable
};
/// From now on renewals and the loss of the run's lease are told to this actor.
struct WatchLease {
  RunId run;
  PipelineHandle watcher;
};
struct ReleaseLease {
  RunId run;
  bool is_offered = false;  ///< once it is free the other replicas are nudged to take it
};

using LockManagerHandle =
    caf::typed_actor<Describes, caf::replies_to<AcquireLease>::with<LeaseResponse>,
                     caf::reacts_to<WatchLease>, caf::reacts_to<ReleaseLease>,
                     caf::reacts_to<Flush>, caf::reacts_to<Tick>>;

// ---- slot_broker ----

/// What a run still wants and gives back; replaces what it wanted before.
struct WantSlots {
  RunId run;
  PipelineHandle sender;
  std::map<SlotClass, std::uint32_t> demand;
  std::uint32_t returned = 0;
};

/// What a run that wants slots would find.
struct SlotsRequest {
  RunId run;
};
struct SlotsLeft {
  std::uint32_t free = 0;
  bool others_wait = false;
};

using SlotBrokerHandle = caf::typed_actor<Describes, caf::reacts_to<WantSlots>,
                                          caf::replies_to<SlotsRequest>::with<SlotsLeft>>;

// ---- custodian ----

/// Reports of this run's attempts go to this actor while it lives.
struct AttachRun {
  RunId run;
  PipelineHandle actor;
};
struct LaunchOrder {
  std::vector<Launch> launches;
};
/// The actor lets its run go and does not know whether these attempts were recorded. If they were,
/// whoever comes next must know that they were not launched.
struct WithholdLaunches {
  PipelineHandle actor;
  std::vector<AttemptKey> keys;
};
/// One recorded attempt, who launched it, and what it runs.
struct CustodyItem {
  AttemptKey key;
  ReplicaIdentity custodian;
  std::shared_ptr<const NodeSpec> node;  // shared with the run's definition
};
struct CancelOrder {
  std::vector<std::pair<CustodyItem, Cancel>> cancels;
};
struct QueryOrder {
  std::vector<CustodyItem> queries;
};
struct AcknowledgeOrder {
  std::vector<CustodyItem> items;
};
struct ExecutorReports {
  std::vector<AttemptReport> reports;
};

/// Whether the executors here can run all nodes of a pipeline.
struct WhatLacks {
  std::shared_ptr<const Definition> definition;  // shared with its runs
};
struct Lacking {
  std::string what{};                ///< `task "checksum"`; empty = nothing
  std::vector<NodeIndex> actions{};  ///< one node for each thing that nothing here runs
};

/// The executors are about to be closed: no call to them comes after the answer.
struct Retire {};
struct Retired {};

using CustodianHandle = caf::typed_actor<
    Describes, caf::replies_to<WhatLacks>::with<Lacking>, caf::replies_to<Retire>::with<Retired>,
    caf::reacts_to<AttachRun>, caf::reacts_to<LaunchOrder>, caf::reacts_to<WithholdLaunches>,
    caf::reacts_to<CancelOrder>, caf::reacts_to<QueryOrder>, caf::reacts_to<AcknowledgeOrder>,
    caf::reacts_to<ExecutorReports>, caf::reacts_to<Drain>, caf::reacts_to<Tick>>;

// ---- supervisor ----

struct StartRequest {
  std::shared_ptr<const Definition> definition;  // shared with all runs of it
  std::string text;                              ///< its canonical text
  std::string request_id{};
};
struct StartResponse {
  Result<RunStartedReply> started;
};
/// Schedule this run here if nobody does.
struct JoinRun {
  RunId run;
};
/// Puts a request into a run's inbox and tells its holder.
struct InboxRequest {
  RunId run;
  InboxMessage message;
  std::string request_id{};
};
struct InboxRequestResponse {
  Result<InboxReply> reply;
};
struct Nudged {
  std::string text;
};
/// A run's actor ends: its result, or why it lets go of it.
struct RunLeft {
  RunStatus status;
  std::string reason{};    ///< empty: the run has ended
  bool is_broken = false;  ///< its history cannot be folded: not to be adopted again
};
/// A run's actor decides nothing until its lease is trusted again; an empty reason: it is.
struct RunParked {
  RunId run;
  Term term;
  std::string reason;
};
/// A task was registered: what was lacking may be there now.
struct TasksChanged {};
/// How a run stands with this replica.
struct ConditionOf {
  RunId run;
};
struct Condition {
  PipelineHandle actor{};     ///< none: it is not held here
  std::string parked{};       ///< why, or why it cannot be held here; empty = it is not
  std::string quarantined{};  ///< why; empty = it is not, as far as this replica knows
  std::string lacking{};      ///< what this replica lacks to run it
};
/// The runs held here.
struct ListRuns {};
struct RunList {
  std::vector<std::pair<RunId, PipelineHandle>> runs;
};

using SupervisorHandle = caf::typed_actor<
    Describes, caf::replies_to<StartRequest>::with<StartResponse>, caf::reacts_to<JoinRun>,
    caf::replies_to<InboxRequest>::with<InboxRequestResponse>,
    caf::replies_to<ConditionOf>::with<Condition>, caf::replies_to<ListRuns>::with<RunList>,
    caf::reacts_to<Nudged>, caf::reacts_to<RunLeft>, caf::reacts_to<RunParked>,
    caf::reacts_to<TasksChanged>, caf::reacts_to<Tick>, caf::reacts_to<Drain>>;

}  // namespace stagecall

#define STAGECALL_LOCAL_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::type)
STAGECALL_LOCAL_MESSAGE(Describe)
STAGECALL_LOCAL_MESSAGE(ActorInsight)
STAGECALL_LOCAL_MESSAGE(Retire)
STAGECALL_LOCAL_MESSAGE(Retired)
STAGECALL_LOCAL_MESSAGE(WriteRequest)
STAGECALL_LOCAL_MESSAGE(WriteResponse)
STAGECALL_LOCAL_MESSAGE(LoadRun)
STAGECALL_LOCAL_MESSAGE(LoadRunResponse)
STAGECALL_LOCAL_MESSAGE(ReadRow)
STAGECALL_LOCAL_MESSAGE(RowResponse)
STAGECALL_LOCAL_MESSAGE(ReadInbox)
STAGECALL_LOCAL_MESSAGE(InboxResponse)
STAGECALL_LOCAL_MESSAGE(SurveyRequest)
STAGECALL_LOCAL_MESSAGE(SurveyResponse)
STAGECALL_LOCAL_MESSAGE(Flush)
STAGECALL_LOCAL_MESSAGE(Tick)
STAGECALL_LOCAL_MESSAGE(SlotsGranted)
STAGECALL_LOCAL_MESSAGE(SlotsContended)
STAGECALL_LOCAL_MESSAGE(Reports)
STAGECALL_LOCAL_MESSAGE(LookIntoInbox)
STAGECALL_LOCAL_MESSAGE(TrustRenewed)
STAGECALL_LOCAL_MESSAGE(LeaseGone)
STAGECALL_LOCAL_MESSAGE(Drain)
STAGECALL_LOCAL_MESSAGE(ViewRequest)
STAGECALL_LOCAL_MESSAGE(RunView)
STAGECALL_LOCAL_MESSAGE(AcquireLease)
STAGECALL_LOCAL_MESSAGE(LeaseResponse)
STAGECALL_LOCAL_MESSAGE(WatchLease)
STAGECALL_LOCAL_MESSAGE(ReleaseLease)
STAGECALL_LOCAL_MESSAGE(WantSlots)
STAGECALL_LOCAL_MESSAGE(SlotsRequest)
STAGECALL_LOCAL_MESSAGE(SlotsLeft)
STAGECALL_LOCAL_MESSAGE(AttachRun)
STAGECALL_LOCAL_MESSAGE(LaunchOrder)
STAGECALL_LOCAL_MESSAGE(WithholdLaunches)
STAGECALL_LOCAL_MESSAGE(CancelOrder)
STAGECALL_LOCAL_MESSAGE(QueryOrder)
STAGECALL_LOCAL_MESSAGE(AcknowledgeOrder)
STAGECALL_LOCAL_MESSAGE(ExecutorReports)
STAGECALL_LOCAL_MESSAGE(StartRequest)
STAGECALL_LOCAL_MESSAGE(StartResponse)
STAGECALL_LOCAL_MESSAGE(JoinRun)
STAGECALL_LOCAL_MESSAGE(InboxRequest)
STAGECALL_LOCAL_MESSAGE(InboxRequestResponse)
STAGECALL_LOCAL_MESSAGE(Nudged)
STAGECALL_LOCAL_MESSAGE(RunLeft)
STAGECALL_LOCAL_MESSAGE(ListRuns)
STAGECALL_LOCAL_MESSAGE(RunList)
STAGECALL_LOCAL_MESSAGE(LoadDefinition)
STAGECALL_LOCAL_MESSAGE(DefinitionResponse)
STAGECALL_LOCAL_MESSAGE(WhatLacks)
STAGECALL_LOCAL_MESSAGE(Lacking)
STAGECALL_LOCAL_MESSAGE(RunParked)
STAGECALL_LOCAL_MESSAGE(TasksChanged)
STAGECALL_LOCAL_MESSAGE(ConditionOf)
STAGECALL_LOCAL_MESSAGE(Condition)
#undef STAGECALL_LOCAL_MESSAGE
