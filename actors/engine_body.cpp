#include "actors/engine_body.hpp"

#include "executors/builtin_tasks.hpp"
#include "executors/process_executor.hpp"
#include "executors/task_pool.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/nudge.hpp"
#include "platform/process.hpp"
#include "platform/random.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>

namespace stagecall {
namespace {

constexpr unsigned kSchedulerThreads = 2;
constexpr std::uint32_t kTaskThreadsDefaultMax = 64;
/// Beside the grace of a drain: for killing, recording and releasing.
constexpr Duration kDrainMargin{5'000};
constexpr Duration kDrainLook{50};

void configure(caf::actor_system_config& config) {
  // Stealing workers poll: sharing costs a tenth of the CPU when little happens.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", kSchedulerThreads);
}

std::uint32_t slots_of(const EngineOptions& options) {
  return options.slots > 0 ? options.slots : std::max(1U, std::thread::hardware_concurrency());
}

std::uint32_t task_threads_of(const EngineOptions& options) {
  return options.task_threads > 0 ? options.task_threads
                                  : std::min(slots_of(options), kTaskThreadsDefaultMax);
}

Result<void> check_range(bool is_inside, const std::string& option, const std::string& allowed) {
  return is_inside ? Result<void>{}
                   : fail(ErrorCode::invalid_argument,
                          "open an engine: " + option + " is out of its range: " + allowed);
}

Result<void> check_options(const EngineOptions& options) {
  const auto has_executor = [](const auto& executor) { return executor != nullptr; };
  for (const auto& checked :
       {check_range(!options.store.empty(), "store", "the path of a file, or :memory:"),
        check_range(options.tick >= Duration{50} && options.tick <= std::chrono::hours{1}, "tick",
                    "50 ms to 1 h"),
        check_range(options.lease_ttl >= std::chrono::seconds{1} &&
                        options.lease_ttl <= std::chrono::minutes{10},
                    "lease_ttl", "1 s to 10 min"),
        check_range(options.slots <= kLimits.slots_max, "slots",
                    "0 to " + std::to_string(kLimits.slots_max)),
        check_range(options.task_threads <= kLimits.task_threads_max, "task_threads",
                    "0 to " + std::to_string(kLimits.task_threads_max)),
        check_range(std::all_of(options.executors.begin(), options.executors.end(), has_executor),
                    "executors", "none of them may be null")}) {
    if (!checked) {
      return checked;
    }
  }
  return {};
}

/// A request to an actor from a thread outside; none: the actor has ended.
template <class Response, class Handle, class Request>
std::optional<Response> ask(caf::actor_system& system, const Handle& actor, Request request) {
  const caf::scoped_actor self{system};
  std::optional<Response> answer;
  self->request(actor, caf::infinite, std::move(request))
      .receive([&answer](Response& response) { answer = std::move(response); },
               [](const caf::error&) {});
  return answer;
}

Error is_closing() {
  return {ErrorCode::store_unavailable, "the engine is closing"};
}

}  // namespace

Engine::Body::Body(EngineOptions options) : options_(std::move(options)) {
  configure(config_);
}

Result<std::unique_ptr<Engine::Body>> Engine::Body::open(EngineOptions options) {
  if (auto checked = check_options(options); !checked) {
    return tl::unexpected<Error>{std::move(checked).error()};
  }
  std::unique_ptr<Body> body{new Body{std::move(options)}};
  auto opened = body->open_stores();
  if (opened) {
    body->spawn_colleagues();
    opened = body->open_executors();
  }
  if (opened) {
    body->begin();
    opened = body->open_nudges();
  }
  if (opened) {
    opened = body->open_control();
  }
  if (!opened) {
    return tl::unexpected<Error>{std::move(opened).error()};
  }
  return body;
}

Engine::Body::~Body() {
  if (!actors_) {
    return;
  }
  feed_->close();
  if (actors_->supervisor) {
    drain(Duration{0});
  }
  nudges_.reset();
  control_.reset();
  (void)ask<Retired>(*system_, actors_->colleagues.custodian, Retire{});
  const BootTime deadline = clock_.boot() + kDrainMargin;
  for (std::size_t i = 0; i < opened_; ++i) {
    executors_[i]->close(std::max(deadline - clock_.boot(), Duration{0}));
  }
  end_replica(*std::exchange(actors_, std::nullopt));
  sink_.reset();
  system_.reset();
  config_.tracer.stop();
}

Result<void> Engine::Body::open_stores() {
  const ProcessIdentity& process = this_process();
  const ReplicaIdentity self{.replica = options_.replica.empty()
                                            ? process.host + "-" + std::to_string(process.pid)
                                            : options_.replica,
                             .incarnation = random_id(),
                             .process = process};
  incarnation_.emplace(self.incarnation);
  auto stores = open_engine_stores(options_, self, clock_);
  if (!stores) {
    return tl::unexpected<Error>{std::move(stores).error()};
  }
  stores_.emplace(*std::move(stores));
  feed_ = std::make_unique<EventFeed>(stores_->reader, clock_, options_.tick);
  settings_ = std::make_shared<ReplicaSettings>(ReplicaSettings{
      .self = self,
      .clock = &clock_,
      .tick = options_.tick,
      .lease_ttl = options_.lease_ttl,
      .slots = slots_of(options_),
      .adopts_all = options_.adopts,
      .outputs = stores_->reader,
      .random = random_number,
      .nudge = [folder = stores_->folder](const std::string& incarnation, const std::string& text) {
        send_nudge(folder, incarnation, text);
      }});
  return {};
}

void Engine::Body::spawn_colleagues() {
  tasks_ = std::make_shared<TaskPool>(clock_, task_threads_of(options_));
  executors_ = options_.executors;
  executors_.push_back(tasks_);
  executors_.push_back(make_builtin_tasks(clock_));
  executors_.push_back(make_process_executor(
      {.folder = stores_->folder, .incarnation = settings_->self.incarnation}, clock_));
  std::vector<Executor*> executors;
  for (const auto& executor : executors_) {
    executors.push_back(executor.get());
  }
  trace(std::exchange(options_.trace, {}));  // its sink is not kept beyond its end
  system_ = std::make_unique<caf::actor_system>(config_);
  actors_.emplace(ReplicaActors{
      stagecall::spawn_colleagues(
          *system_, {stores_->writer.get(), stores_->leases.get(), executors, settings_},
          Placement::threads, [this](const RunId& run) { feed_->grown(run); }),
      {}});
  sink_ = make_report_sink(actors_->colleagues.custodian);
}

Result<void> Engine::Body::open_executors() {
  for (const auto& executor : executors_) {
    if (auto opened = executor->open(*sink_); !opened) {
      return opened;
    }
    ++opened_;
  }
  return {};
}

/// From here on runs are adopted, and started.
void Engine::Body::begin() {
  actors_->supervisor = spawn_supervisor(*system_, actors_->colleagues, settings_,
                                         [this](const RunLeft&) { departures_.add(); });
}

Result<void> Engine::Body::open_nudges() {
  auto nudges = open_nudge_receiver(stores_->folder, settings_->self.incarnation,
                                    [supervisor = actors_->supervisor](std::string text) {
                                      caf::anon_send(supervisor, Nudged{std::move(text)});
                                    });
  if (!nudges) {
    return tl::unexpected<Error>{nudges.error()};
  }
  nudges_ = *std::move(nudges);
  return {};
}

Result<void> Engine::Body::register_task(std::string name, Task task) {
  auto added = tasks_->add(std::move(name), std::move(task));
  if (added) {
    caf::anon_send(actors_->supervisor, TasksChanged{});
  }
  return added;
}

Result<RunStartedReply> Engine::Body::start(std::shared_ptr<const Definition> definition,
                                            const std::string& request_id) {
  std::string text = write_pipeline(definition->spec());
  auto answer =
      ask<StartResponse>(*system_, actors_->supervisor,
                         StartRequest{std::move(definition), std::move(text), request_id});
  return answer ? std::move(answer->started) : tl::unexpected<Error>{is_closing()};
}

Result<InboxReply> Engine::Body::put(const RunId& run, InboxMessage message,
                                     const std::string& request_id) {
  auto answer = ask<InboxRequestResponse>(*system_, actors_->supervisor,
                                          InboxRequest{run, std::move(message), request_id});
  return answer ? std::move(answer->reply) : tl::unexpected<Error>{is_closing()};
}

Condition Engine::Body::condition(const RunId& run) {
  return ask<Condition>(*system_, actors_->supervisor, ConditionOf{run}).value_or(Condition{});
}

std::set<NodeIndex> Engine::Body::without_executor(
    const std::shared_ptr<const Definition>& definition) {
  const auto lacking = ask<Lacking>(*system_, actors_->colleagues.custodian, WhatLacks{definition});
  std::set<NodeIndex> nodes;
  for (const NodeIndex action : lacking.value_or(Lacking{}).actions) {
    const std::vector<NodeIndex> like = definition->like(action);
    nodes.insert(like.begin(), like.end());
  }
  return nodes;
}

std::vector<ActorInsight> Engine::Body::describe() {
  std::vector<ActorInsight> all;
  const auto add = [&](const auto& actor) {
    if (auto description = ask<ActorInsight>(*system_, actor, Describe{})) {
      all.push_back(*std::move(description));
    }
  };
  add(actors_->supervisor);
  add(actors_->colleagues.store);
  add(actors_->colleagues.lock_manager);
  add(actors_->colleagues.slot_broker);
  add(actors_->colleagues.custodian);
  return all;
}

RunList Engine::Body::runs() {
  return ask<RunList>(*system_, actors_->supervisor, ListRuns{}).value_or(RunList{});
}

void Engine::Body::drain(Duration grace) {
  caf::anon_send(actors_->supervisor, Drain{grace});
  const BootTime deadline = clock_.boot() + grace + kDrainMargin;
  while (!runs().runs.empty() && clock_.boot() < deadline) {
    departures_.wait_past(departures_.count(), kDrainLook);
  }
}

}  // namespace stagecall
