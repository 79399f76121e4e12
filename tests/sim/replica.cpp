#include "tests/sim/replica.hpp"

#include "actors/assembly.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/memory_store.hpp"
#include "platform/incarnations.hpp"
#include "platform/process.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace stagecall::sim {
namespace {

/// Unique in this process, where the ends of incarnations are remembered; not part of any trace.
std::string new_incarnation(const std::string& name) {
  static std::uint64_t count = 0;
  return name + "-" + std::to_string(++count);
}

caf::actor_system_config make_config() {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

class SimClock final : public Clock {
 public:
  explicit SimClock(const Universe& universe) : universe_(universe) {}
  BootTime boot() const override { return universe_.now; }
  WallTime wall() const override {
    return WallTime{Duration{1'800'000'000'000} + universe_.now.time_since_epoch() + offset};
  }
  Duration offset{0};

 private:
  const Universe& universe_;
};

}  // namespace

struct Replica::Parts {
  Parts(const Ground& on, const ReplicaOptions& options)
      : ground(on),
        incarnation(new_incarnation(options.name)),
        life(incarnation),
        clock(on.universe),
        settings(std::make_shared<ReplicaSettings>(settings_of(options))),
        store(on.universe, on.checker, open_memory_store(on.content), options.name, is_alive),
        leases(on.universe, on.leases, settings->self, is_alive),
        executor(on.universe, on.attempts, on.checker, incarnation, is_alive) {
    system_clock().current_time += on.universe.now.time_since_epoch();
    const Colleagues colleagues =
        spawn_colleagues(system, {&store, &leases, {&executor}, settings}, Placement::scheduler);
    sink = make_report_sink(colleagues.custodian);
    (void)executor.open(*sink);
    actors.emplace(ReplicaActors{colleagues, spawn_supervisor(system, colleagues, settings)});
  }

  ReplicaSettings settings_of(const ReplicaOptions& options) {
    ReplicaSettings made;
    made.self = {options.name, incarnation, this_process()};
    made.clock = &clock;
    made.tick = options.tick;
    made.lease_ttl = options.lease_ttl;
    made.slots = options.slots;
    made.random = [this] { return ground.universe.dice.next(); };
    made.nudge = [this](const std::string& to, const std::string& text) {
      if (is_alive) {
        ground.nudge(to, text);
      }
    };
    return made;
  }
  caf::detail::test_actor_clock& system_clock() { return scheduler.clock(); }
  void end() {
    if (actors) {
      end_replica(*std::exchange(actors, std::nullopt));
      sink.reset();
      scheduler.run();
    }
  }

  Ground ground;
  bool is_alive = true;
  std::string incarnation;
  LiveIncarnation life;
  SimClock clock;
  SharedSettings settings;
  SimStore store;
  SimLeases leases;
  SimExecutor executor;
  caf::actor_system_config config = make_config();
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler =
      dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::optional<ReplicaActors> actors;
  std::unique_ptr<ReportSink> sink;
  std::map<caf::resumable*, BootTime> stalled;  // until; looked up only
};

Replica::Replica(const Ground& ground, const ReplicaOptions& options)
    : parts_(std::make_unique<Parts>(ground, options)) {}

Replica::~Replica() {
  parts_->is_alive = false;
  parts_->end();
}

void Replica::close() {
  parts_->end();
}

const std::string& Replica::incarnation() const {
  return parts_->incarnation;
}

SimStore& Replica::store() {
  return parts_->store;
}

SimLeases& Replica::leases() {
  return parts_->leases;
}

void Replica::set_wall(Duration offset) {
  parts_->clock.offset = offset;
}

void Replica::catch_up() {
  const auto due = decltype(parts_->system_clock().current_time){} +
                   parts_->ground.universe.now.time_since_epoch();
  const auto behind = due - parts_->system_clock().current_time;
  if (behind.count() > 0) {
    parts_->scheduler.advance_time(behind);
  }
  parts_->executor.step();
}

bool Replica::run_once() {
  Universe& universe = parts_->ground.universe;
  auto& jobs = parts_->scheduler.jobs;
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto stalled = parts_->stalled.find(jobs[i]);
    if (stalled == parts_->stalled.end() || stalled->second <= universe.now) {
      able.push_back(i);
    }
  }
  if (able.empty()) {
    return false;
  }
  const auto chosen = static_cast<std::ptrdiff_t>(able[universe.dice.below(able.size())]);
  if (universe.strikes("actor.stall")) {
    parts_->stalled[jobs[static_cast<std::size_t>(chosen)]] =
        universe.now + universe.dice.between(Duration{1}, Duration{5'000});
    return true;
  }
  std::rotate(jobs.begin(), jobs.begin() + chosen, jobs.begin() + chosen + 1);
  parts_->scheduler.run_once();
  return true;
}

void Replica::start(const std::string& definition, const std::string& request_id) {
  auto read = read_pipeline(definition, {}).value();
  caf::anon_send(parts_->actors->supervisor, StartRequest{std::move(read), definition, request_id});
}

void Replica::put(const RunId& run, const InboxMessage& message) {
  caf::anon_send(parts_->actors->supervisor, InboxRequest{run, message, {}});
}

void Replica::nudge(const std::string& text) {
  caf::anon_send(parts_->actors->supervisor, Nudged{text});
}

void Replica::drain(Duration grace) {
  caf::anon_send(parts_->actors->supervisor, Drain{grace});
}

std::uint64_t Replica::free_slots() {
  caf::scoped_actor self{parts_->system};
  auto pending = self->request(parts_->actors->colleagues.slot_broker, caf::infinite, Describe{});
  parts_->scheduler.run();
  std::uint64_t free = 0;
  pending.receive([&](const ActorInsight& it) { free = it.counters.at("free"); },
                  [](const caf::error&) {});
  return free;
}

std::size_t Replica::runs_held() {
  caf::scoped_actor self{parts_->system};
  auto pending = self->request(parts_->actors->supervisor, caf::infinite, ListRuns{});
  parts_->scheduler.run();
  std::size_t held = 0;
  pending.receive([&](const RunList& list) { held = list.runs.size(); }, [](const caf::error&) {});
  return held;
}

}  // namespace stagecall::sim
