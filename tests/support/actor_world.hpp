// Whole replicas in one thread and in virtual time: the shipped actors on CAF's test scheduler, a
// real SQLite store and lease file in a folder of the test's own, a scripted executor each.
#pragma once

#include "actors/assembly.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "persistence/sqlite_store.hpp"
#include "platform/process.hpp"
#include "tests/support/faulty_parts.hpp"
#include "tests/support/scripted_executor.hpp"
#include "tests/support/temp_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::testing {

inline caf::actor_system_config make_test_config() {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

/// CAF's test clock, as both of ours; the wall can be set.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(caf::scheduler::test_coordinator& scheduler) : scheduler_(scheduler) {}
  BootTime boot() const override {
    return BootTime{
        std::chrono::duration_cast<Duration>(scheduler_.clock().now().time_since_epoch())};
  }
  WallTime wall() const override {
    return WallTime{Duration{1'800'000'000'000} + boot().time_since_epoch() + wall_offset};
  }
  Duration wall_offset{0};

 private:
  caf::scheduler::test_coordinator& scheduler_;
};

class World {
 public:
  struct Member {
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<FaultyLeases> leases;
    ScriptedExecutor executor;
    SharedSettings settings;
    std::optional<ReplicaActors> actors;
    std::unique_ptr<ReportSink> sink;
    std::vector<RunLeft> left;
    std::vector<std::pair<std::string, std::string>> nudges;
  };

  explicit World(std::uint32_t slots = 16, ProcessIdentity first = this_process())
      : World(SqliteStoreOptions{.path = {}, .durability = Durability::normal}, slots,
              std::move(first)) {}
  /// On a store opened so, but in the test's folder.
  explicit World(SqliteStoreOptions on, std::uint32_t slots = 16,
                 ProcessIdentity first = this_process())
      : slots_(slots), store_options_(std::move(on)) {
    store_options_.path = folder_ / "store.db";
    add_replica("a", true, std::move(first));
  }
  ~World() {
    for (auto& member : members_) {
      end(*member);
    }
    run();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Member& add_replica(const std::string& name, bool adopts_all = true,
                      ProcessIdentity process = this_process()) {
    auto member = std::make_unique<Member>();
    Member* raw = member.get();
    raw->settings = std::make_shared<ReplicaSettings>(ReplicaSettings{
        .self = {.replica = name,
                 .incarnation = name + "-" + std::to_string(members_.size()),
                 .process = std::move(process)},
        .clock = &clock_,
        .slots = slots_,
        .adopts_all = adopts_all,
        .random = [this] { return random_ += 0x9e3779b97f4a7c15ULL; },
        .nudge = [raw](const std::string& incarnation,
                       const std::string& text) { raw->nudges.emplace_back(incarnation, text); }});
    raw->store = std::make_unique<FaultyStore>(value(open_sqlite_store(store_options_)));
    raw->leases = std::make_unique<FaultyLeases>(
        value(open_sqlite_lease_store(folder_ / "store.db-leases", raw->settings->self, clock_)));
    const Colleagues colleagues = spawn_colleagues(
        system_, {raw->store.get(), raw->leases.get(), {&raw->executor}, raw->settings},
        Placement::scheduler);
    raw->sink = make_report_sink(colleagues.custodian);
    (void)raw->executor.open(*raw->sink);
    raw->actors.emplace(ReplicaActors{
        colleagues, spawn_supervisor(system_, colleagues, raw->settings,
                                     [raw](const RunLeft& news) { raw->left.push_back(news); })});
    members_.push_back(std::move(member));
    run();
    return *raw;
  }

  Member& replica(std::size_t index = 0) { return *members_.at(index); }
  ScriptedExecutor& executor() { return replica().executor; }
  VirtualClock& clock() { return clock_; }
  TempFolder& folder() { return folder_; }
  caf::actor_system& system() { return system_; }

  /// Runs until nothing is to be done at this moment.
  void run() { scheduler_.run(); }
  /// Has one actor handle one message.
  void step() { scheduler_.run_once(); }
  /// Time passes while nothing is done: all stand still, even within a call.
  void stand_still(Duration time) { scheduler_.advance_time(time); }
  /// In steps, so that timers that are set again fire again.
  void advance(Duration wait, Duration step = Duration{100}) {
    for (; wait > Duration{0}; wait -= step) {
      scheduler_.advance_time(std::min(wait, step));
      scheduler_.run();
    }
  }

  /// All actors of the replica are told to end.
  void end(Member& member) {
    if (member.actors) {
      end_replica(*std::exchange(member.actors, std::nullopt));
    }
  }
  /// All actors of the replica go at once, as at a crash; nothing is released.
  void crash(Member& member) {
    member.leases->offline = true;
    for (const auto& [run, actor] : runs(member)) {
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    }
    end(member);
    run();
  }

  template <class Response, class Handle, class Request>
  Response ask(const Handle& actor, Request request) {
    caf::scoped_actor self{system_};
    auto pending = self->request(actor, caf::infinite, std::move(request));
    run();
    std::optional<Response> answer;
    pending.receive([&](Response& response) { answer = std::move(response); },
                    [](const caf::error&) {});
    return answer.value();
  }

  Result<RunStartedReply> start(PipelineSpec spec, Member& member) {
    auto definition = value(Definition::build(std::move(spec)));
    const std::string text = write_pipeline(definition->spec());
    return ask<StartResponse>(member.actors->supervisor, StartRequest{definition, text, {}})
        .started;
  }
  RunId start(PipelineSpec spec) { return value(start(std::move(spec), replica())).row.run; }

  Result<InboxReply> put(const RunId& run, InboxMessage message, Member& member) {
    return ask<InboxRequestResponse>(member.actors->supervisor,
                                     InboxRequest{run, std::move(message), {}})
        .reply;
  }
  Result<InboxReply> put(const RunId& run, InboxMessage message) {
    return put(run, std::move(message), replica());
  }
  /// Nudges go nowhere by themselves, as if lost; this brings those of all members.
  void deliver_nudges() {
    for (auto& from : members_) {
      for (const auto& [incarnation, text] : std::exchange(from->nudges, {})) {
        for (auto& to : members_) {
          const bool is_meant =
              incarnation.empty() || incarnation == to->settings->self.incarnation;
          if (to->actors && is_meant) {
            caf::anon_send(to->actors->supervisor, Nudged{text});
          }
        }
      }
    }
    run();
  }
  void drain(Member& member, Duration grace) {
    caf::anon_send(member.actors->supervisor, Drain{grace});
    run();
  }

  std::vector<std::pair<RunId, PipelineHandle>> runs(Member& member) {
    return ask<RunList>(member.actors->supervisor, ListRuns{}).runs;
  }
  PipelineHandle actor_of(const RunId& run, Member& member) {
    for (const auto& [held, actor] : runs(member)) {
      if (held == run) {
        return actor;
      }
    }
    return {};
  }
  PipelineHandle actor_of(const RunId& run) { return actor_of(run, replica()); }
  RunStatus status(const RunId& run, Member& member) { return view(run, member).status; }
  RunView view(const RunId& run, Member& member) {
    return ask<RunView>(actor_of(run, member), ViewRequest{});
  }
  RunStatus status(const RunId& run) { return status(run, replica()); }
  PassCounts passes(const RunId& run) { return status(run).passes; }
  ActorInsight describe(const PipelineHandle& actor) {
    return ask<ActorInsight>(actor, Describe{});
  }
  /// What an actor counts.
  template <class Handle>
  std::uint64_t count(const Handle& actor, const std::string& what) {
    const auto counters = ask<ActorInsight>(actor, Describe{}).counters;
    const auto found = counters.find(what);
    return found == counters.end() ? 0 : found->second;
  }
  RunRow row(const RunId& run) { return value(replica().store->real().run(run)); }
  RunState state(const RunId& run) { return row(run).summary.state; }
  std::uint32_t nodes(const RunId& run, NodeState state) {
    return row(run).summary.nodes[static_cast<std::size_t>(state)];
  }
  std::size_t inbox_rows(const RunId& run) {
    return value(replica().store->real().inbox(run, 100'000)).size();
  }
  std::vector<Leftover> leftovers(const RunId& run) {
    return value(replica().store->real().leftovers(run));
  }
  std::vector<Event> events(const RunId& run) {
    std::vector<Event> events;
    for (const StoredPass& stored : value(replica().store->real().history(run, Seq{0}))) {
      events.insert(events.end(), stored.pass.events.begin(), stored.pass.events.end());
    }
    return events;
  }

  template <class T>
  static T value(Result<T> result) {
    if (!result) {
      throw std::runtime_error{result.error().message};
    }
    return *std::move(result);
  }

 private:
  std::uint32_t slots_;
  std::uint64_t random_ = 1;
  TempFolder folder_;
  SqliteStoreOptions store_options_;
  caf::actor_system_config config_ = make_test_config();
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  VirtualClock clock_{scheduler_};
  std::vector<std::unique_ptr<Member>> members_;
};

/// A process of this host and boot that no longer exists.
inline ProcessIdentity gone_process() {
  ProcessIdentity process = this_process();
  process.pid = 999'999'999;
  process.start_time = 1;
  return process;
}
template <class T>
std::size_t count_of(const std::vector<Event>& events) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(),
                    [](const Event& event) { return std::holds_alternative<T>(event); }));
}
/// Nodes of one test pipeline, in short.
inline NodeSpec task(const std::string& id, std::vector<std::string> after = {}) {
  return {.id = id, .after = std::move(after), .action = TaskAction{"work"}};
}
inline NodeSpec external(const std::string& id, std::vector<std::string> after = {}) {
  return {.id = id, .after = std::move(after), .action = ExternalAction{}};
}
inline PipelineSpec pipeline(const std::string& name, std::vector<NodeSpec> nodes) {
  return {.name = name, .nodes = std::move(nodes)};
}

}  // namespace stagecall::testing
