#include "tests/sim/world.hpp"

#include "persistence/memory_store.hpp"

#include <algorithm>
#include <utility>

namespace stagecall::sim {
namespace {

constexpr std::size_t kEndless = 200'000;  // messages without time passing

class TrueClock final : public Clock {
 public:
  explicit TrueClock(const Universe& universe) : universe_(universe) {}
  BootTime boot() const override { return universe_.now; }
  WallTime wall() const override {
    return WallTime{Duration{1'800'000'000'000} + universe_.now.time_since_epoch()};
  }

 private:
  const Universe& universe_;
};

}  // namespace

World::World(std::uint64_t seed, const Scenario& scenario, bool is_loud)
    : scenario_(scenario),
      universe_(seed, scenario.faults, is_loud),
      content_(make_memory_store_content()),
      truth_(open_memory_store(content_)),
      clock_(std::make_unique<TrueClock>(universe_)),
      leases_(universe_, *clock_),
      attempts_(universe_),
      checker_(universe_, *truth_, attempts_, leases_, scenario.slots),
      seats_(scenario.replicas),
      starts_left_(scenario.runs),
      begun_at_(universe_.now) {
  while (scenario_.pipelines.size() < 3 && scenario.pipelines.empty()) {
    scenario_.pipelines.push_back(
        random_pipeline(universe_.dice, "p" + std::to_string(scenario_.pipelines.size())));
  }
}

Outcomes World::run() {
  const BootTime calm_at = begun_at_ + scenario_.length;
  while (universe_.now < calm_at && !universe_.is_broken()) {
    step();
  }
  come_to_rest();
  const BootTime late_at = universe_.now + scenario_.tick * kTicksToEnd;
  while (!checker_.all_ended() && universe_.now < late_at && !universe_.is_broken()) {
    step();
  }
  if (!universe_.is_broken()) {
    check_rest();
  }
  Outcomes outcomes{.broken = universe_.broken(),
                    .recent = {universe_.recent().begin(), universe_.recent().end()},
                    .passes = checker_.passes(),
                    .runs = checker_.runs().size(),
                    .trace_hash = universe_.trace_hash(),
                    .virtual_time = universe_.now - begun_at_,
                    .faults = universe_.counts()};
  return outcomes;
}

void World::step() {
  const BootTime before = universe_.now;
  let_time_pass();
  seat_replicas();
  if (!is_at_rest_) {
    befall(universe_.now - before);
    ask_something();
  }
  end_external_nodes();
  attempts_.step();
  deliver_nudges();
  for (Seat& seat : seats_) {
    if (is_up(seat)) {
      seat.replica->catch_up();
    }
  }
  if (is_at_rest_) {
    remember();
  }
  run_actors();
}

void World::let_time_pass() {
  const double kind = universe_.dice.fraction();
  const Duration most = kind < 0.5 ? Duration{20} : kind < 0.9 ? Duration{200} : Duration{1'000};
  universe_.now += universe_.dice.between(Duration{1}, most);
}

/// Whoever has messages may be next. Sometimes time passes while messages wait.
void World::run_actors() {
  const std::size_t most =
      universe_.dice.hits(is_at_rest_ ? 0 : 0.15) ? universe_.dice.below(12) : kEndless;
  std::vector<Replica*> ready;
  for (Seat& seat : seats_) {
    if (is_up(seat)) {
      ready.push_back(seat.replica.get());
    }
  }
  std::size_t done = 0;
  for (; done < most && !ready.empty() && !universe_.is_broken(); ++done) {
    const auto chosen = universe_.dice.below(ready.size());
    if (!ready[chosen]->run_once()) {
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  }
  if (done == kEndless) {
    universe_.blame("endless", "actors send to each other without end while no time passes");
  }
}

// ---- What befalls replicas ----

void World::seat_replicas() {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.replica && universe_.now >= seat.closes_at && is_up(seat)) {
      universe_.note("close " + std::to_string(i));
      seat.replica->close();
      crash(seat);
    }
    if (!seat.replica && universe_.now >= seat.starts_at) {
      const std::string name{static_cast<char>('a' + i)};
      universe_.note("open " + name);
      seat.replica = std::make_unique<Replica>(
          Ground{universe_, content_, leases_, attempts_, checker_,
                 [this](const auto& to, const auto& text) { take_nudge(to, text); }},
          ReplicaOptions{name, scenario_.slots, scenario_.tick, scenario_.lease_ttl});
      seat.replica->set_wall(seat.wall_offset);
    }
  }
}

/// Everything that it had in memory is gone; it starts again some time later.
void World::crash(Seat& seat) {
  const std::string incarnation = seat.replica->incarnation();
  seat.replica.reset();
  attempts_.launcher_gone(incarnation);
  seat.closes_at = BootTime::max();
  seat.stands_until = BootTime{};
  seat.starts_at =
      universe_.now +
      (is_at_rest_ ? Duration{0} : universe_.dice.between(Duration{1}, Duration{30'000}));
}

void World::befall(Duration passed) {
  const double seconds = static_cast<double>(passed.count()) / 1000;
  static const std::vector<std::pair<std::string, std::string>> kinds{
      {"replica.crash", "crash"}, {"replica.pause", "pause"},       {"replica.drain", "drain"},
      {"clock.set", "set_clock"}, {"lease.flush", "flush"},         {"lease.forget", "forget"},
      {"lease.away", "away"},     {"lease.partition", "partition"}, {"store.cut", "cut"},
      {"run.stop", "stop"},       {"node.force", "force"}};
  for (const auto& [fault, what] : kinds) {
    if (universe_.strikes(fault, seconds)) {
      carry_out({.what = what,
                 .replica = universe_.dice.below(seats_.size()),
                 .lasts = universe_.dice.between(Duration{1}, scenario_.lease_ttl * 2)});
    }
  }
  while (acts_done_ < scenario_.acts.size() &&
         begun_at_ + scenario_.acts[acts_done_].at <= universe_.now) {
    universe_.count("act." + scenario_.acts[acts_done_].what);
    carry_out(scenario_.acts[acts_done_++]);
  }
}

void World::carry_out(const Act& act) {
  Seat& seat = seats_[act.replica % seats_.size()];
  const auto runs = checker_.runs();
  universe_.note("act " + act.what + " " + std::to_string(act.replica));
  if (act.what == "flush") {
    leases_.flush();
  } else if (act.what == "away") {
    leases_.be_away(act.lasts);
  } else if (act.what == "forget" && !runs.empty()) {
    leases_.forget(runs[universe_.dice.below(runs.size())]);
  } else if (act.what == "stop" && !runs.empty()) {
    put(runs[universe_.dice.below(runs.size())], StopInput{"asked"});
  } else if (act.what == "force" && !runs.empty()) {
    const RunId& run = runs[universe_.dice.below(runs.size())];
    const auto& nodes = checker_.state(run).definition().spec().nodes;
    say_done(run, nodes[universe_.dice.below(nodes.size())], true);
  } else if (!seat.replica) {
    return;
  } else if (act.what == "crash") {
    crash(seat);
  } else if (act.what == "pause") {
    seat.stands_until = universe_.now + act.lasts;
  } else if (act.what == "drain") {
    const Duration grace = universe_.dice.between(Duration{0}, Duration{5'000});
    seat.replica->drain(grace);
    seat.closes_at = universe_.now + grace + universe_.dice.between(Duration{0}, Duration{15'000});
  } else if (act.what == "set_clock") {
    seat.wall_offset += universe_.dice.between(Duration{-3'600'000}, Duration{3'600'000});
    seat.replica->set_wall(seat.wall_offset);
  } else if (act.what == "partition") {
    seat.replica->leases().cut_off(act.lasts);
  } else if (act.what == "cut") {
    seat.replica->store().cut_off(act.lasts);
  }
}

// ---- What is asked ----

World::Seat* World::any_up() {
  Seat& seat = seats_[universe_.dice.below(seats_.size())];
  return is_up(seat) ? &seat : nullptr;
}

void World::ask_something() {
  Seat* seat = any_up();
  if (starts_left_ == 0 || seat == nullptr || !universe_.dice.hits(0.1)) {
    return;
  }
  --starts_left_;
  const auto& pipeline = scenario_.pipelines[universe_.dice.below(scenario_.pipelines.size())];
  const std::string request_id =
      universe_.dice.hits(0.3) ? "r" + std::to_string(universe_.dice.below(3)) : "";
  seat->replica->start(pipeline, request_id);
}

/// By a replica, or as the command line does it: into the store, and a nudge.
void World::put(const RunId& run, InboxMessage message) {
  Seat* seat = any_up();
  if (seat != nullptr && universe_.dice.hits(0.5)) {
    seat->replica->put(run, message);
    return;
  }
  const auto replies = truth_->write({PutInbox{run, {}, std::move(message), clock_->wall()}});
  const auto& reply = replies.value().front();
  if (reply && std::get<InboxReply>(*reply).is_stored()) {
    take_nudge(std::get<InboxReply>(*reply).owner, run.text());
  }
}

void World::say_done(const RunId& run, const NodeSpec& node, bool is_forced) {
  NodeDoneInput done{
      .node = node.id,
      .outcome = universe_.dice.hits(0.7) ? Outcome::succeeded() : Outcome::failed("said so")};
  if (is_forced) {
    done.force_reason = "because";
  }
  put(run, std::move(done));
}

/// Now and then, somebody outside; once it is calm, soon.
void World::end_external_nodes() {
  for (const RunId& run : checker_.runs()) {
    const PipelineState& state = checker_.state(run);
    for (const NodeIndex open : state.open()) {
      if (is_external(state.spec(open)) && universe_.dice.hits(0.02)) {
        say_done(run, state.spec(open), false);
      }
    }
  }
}

// ---- Nudges ----

void World::take_nudge(const std::string& incarnation, const std::string& text) {
  if (universe_.strikes("nudge.drop")) {
    return;
  }
  const int copies = universe_.strikes("nudge.twice") ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const Duration most = universe_.strikes("nudge.late") ? Duration{20'000} : Duration{5};
    nudges_.push_back(
        {universe_.now + universe_.dice.between(Duration{0}, most), incarnation, text});
  }
}

void World::deliver_nudges() {
  const auto waits = [&](const Nudge& nudge) { return nudge.at > universe_.now; };
  const auto due = std::stable_partition(nudges_.begin(), nudges_.end(), waits);
  const std::vector<Nudge> arrived(due, nudges_.end());
  nudges_.erase(due, nudges_.end());
  for (const Nudge& nudge : arrived) {
    for (Seat& seat : seats_) {
      const bool is_meant = seat.replica && (nudge.incarnation.empty() ||
                                             nudge.incarnation == seat.replica->incarnation());
      if (is_meant) {
        seat.replica->nudge(nudge.text);
      }
    }
  }
}

// ---- The calm ----

void World::come_to_rest() {
  universe_.note("calm");
  is_at_rest_ = true;
  universe_.end_faults();
  attempts_.come_to_rest();
  for (Seat& seat : seats_) {
    seat.starts_at = std::min(seat.starts_at, universe_.now);
    seat.stands_until = std::min(seat.stands_until, universe_.now);
  }
}

/// An executor keeps an end until it is acknowledged: its own engine does not ask, another one
/// cannot. What was forgotten is waited for without end, unless somebody has asked meanwhile.
void World::remember() {
  for (auto& [key, attempt] : attempts_.all()) {
    if (attempt.is_forgotten && !attempts_.is_gone(attempt.launcher) &&
        checker_.is_waited_for(key)) {
      attempt.is_forgotten = false;
    }
  }
}

void World::check_rest() {
  if (!checker_.all_ended()) {
    universe_.blame("liveness", std::to_string(checker_.live()) + " runs have not ended " +
                                    std::to_string(kTicksToEnd) + " ticks after the last fault");
    return;
  }
  // What is still on its way arrives: words of attempts that ended late, leases given back.
  const BootTime enough = universe_.now + Duration{30'000};
  while (universe_.now < enough && !universe_.is_broken()) {
    step();
  }
  checker_.at_the_end();
  for (Seat& seat : seats_) {
    if (!seat.replica || seat.closes_at != BootTime::max()) {
      continue;
    }
    if (seat.replica->runs_held() > 0) {
      universe_.blame("held", "a replica holds a run that has ended");
    }
    if (seat.replica->free_slots() != scenario_.slots) {
      universe_.blame("slots", "not all slots are free though nothing runs");
    }
  }
}

}  // namespace stagecall::sim
