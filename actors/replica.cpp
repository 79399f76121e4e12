#include "actors/replica.hpp"

#include "executors/builtin_tasks.hpp"
#include "executors/process_executor.hpp"
#include "formats/pipeline_file.hpp"
#include "persistence/nudge.hpp"
#include "persistence/sqlite_lease_store.hpp"
#include "platform/system_clock.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace stagecall {
namespace {

constexpr unsigned kSchedulerThreads = 2;
/// Beside the grace of a drain: for killing, recording and releasing.
constexpr Duration kDrainMargin{5'000};
constexpr Duration kDrainLook{50};

caf::actor_system_config make_system_config() {
  caf::actor_system_config config;
  // Stealing workers poll: sharing costs a tenth of the CPU when little happens.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", kSchedulerThreads);
  return config;
}

/// Runs whose actors have ended here, for threads that wait for them.
class Departures {
 public:
  void add(const RunLeft& news) {
    {
      const std::lock_guard lock{mutex_};
      if (left_.insert_or_assign(news.status.run, news).second) {
        order_.push_back(news.status.run);
      }
      if (order_.size() > kLimits.departures_max) {
        left_.erase(order_.front());
        order_.pop_front();
      }
    }
    changed_.notify_all();
  }

  /// A run that was let go may come back and leave again: such news is told once.
  std::optional<RunLeft> wait(const RunId& run, Duration wait) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, wait, [&] { return left_.contains(run); });
    const auto found = left_.find(run);
    if (found == left_.end()) {
      return std::nullopt;
    }
    RunLeft news = found->second;
    if (!news.reason.empty() && !news.is_broken) {
      left_.erase(found);
      std::erase(order_, run);
    }
    return news;
  }

  /// Returns with the next departure of any run, or after the wait.
  void wait_for_any(Duration wait) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, wait);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RunId, RunLeft> left_;
  std::deque<RunId> order_;  // oldest first: who comes late asks the store
};

class EmbeddedReplica final : public Replica {
 public:
  EmbeddedReplica() = default;
  ~EmbeddedReplica() override;

  Result<void> open(const ReplicaOptions& options);
  Result<RunStartedReply> start(std::shared_ptr<const Definition> definition,
                                const std::string& request_id) override;
  void join(const RunId& run) override;
  std::optional<RunLeft> wait(const RunId& run, Duration wait) override;
  std::optional<RunStatus> status(const RunId& run) override;
  void drain(Duration grace) override;

 private:
  RunList runs();

  SystemClock clock_;
  SharedSettings settings_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<ReportSink> sink_;
  std::vector<std::unique_ptr<Executor>> executors_;
  Departures departures_;
  caf::actor_system_config config_ = make_system_config();
  std::unique_ptr<caf::actor_system> system_;
  std::optional<ReplicaActors> actors_;
  std::unique_ptr<NudgeReceiver> nudges_;
};

Result<void> EmbeddedReplica::open(const ReplicaOptions& options) {
  auto store = open_sqlite_store({.path = options.store_path, .durability = options.durability});
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  store_ = *std::move(store);
  settings_ = make_settings(options, clock_);
  auto leases = open_sqlite_lease_store(lease_path(options.store_path), settings_->self, clock_);
  if (!leases) {
    return tl::unexpected<Error>{leases.error()};
  }
  leases_ = *std::move(leases);

  executors_.push_back(make_builtin_tasks(clock_));
  executors_.push_back(make_process_executor(
      {.folder = store_folder(options.store_path), .incarnation = settings_->self.incarnation},
      clock_));
  system_ = std::make_unique<caf::actor_system>(config_);
  std::vector<Executor*> executors;
  for (const auto& executor : executors_) {
    executors.push_back(executor.get());
  }
  actors_ =
      spawn_replica(*system_, {store_.get(), leases_.get(), executors, settings_},
                    Placement::threads, [this](const RunLeft& news) { departures_.add(news); });
  sink_ = make_report_sink(actors_->colleagues.custodian);
  for (const auto& executor : executors_) {
    if (auto opened = executor->open(*sink_); !opened) {
      return opened;
    }
  }
  auto nudges = open_nudge_receiver(store_folder(options.store_path), settings_->self.incarnation,
                                    [supervisor = actors_->supervisor](std::string text) {
                                      caf::anon_send(supervisor, Nudged{std::move(text)});
                                    });
  if (!nudges) {
    return tl::unexpected<Error>{nudges.error()};
  }
  nudges_ = *std::move(nudges);
  return {};
}

EmbeddedReplica::~EmbeddedReplica() {
  if (!actors_) {
    return;
  }
  drain(Duration{0});
  nudges_.reset();
  for (const auto& executor : executors_) {
    executor->close(kDrainMargin);
  }
  end_replica(*std::exchange(actors_, std::nullopt));
  sink_.reset();
  system_.reset();
}

Result<RunStartedReply> EmbeddedReplica::start(std::shared_ptr<const Definition> definition,
                                               const std::string& request_id) {
  const caf::scoped_actor self{*system_};
  StartRequest request{definition, write_pipeline(definition->spec()), request_id};
  Result<RunStartedReply> started = fail(ErrorCode::store_unavailable, "the engine is closing");
  self->request(actors_->supervisor, caf::infinite, std::move(request))
      .receive([&started](StartResponse& response) { started = std::move(response.started); },
               [](const caf::error&) {});
  return started;
}

void EmbeddedReplica::join(const RunId& run) {
  caf::anon_send(actors_->supervisor, JoinRun{run});
}

std::optional<RunLeft> EmbeddedReplica::wait(const RunId& run, Duration wait) {
  return departures_.wait(run, wait);
}

RunList EmbeddedReplica::runs() {
  const caf::scoped_actor self{*system_};
  RunList list;
  self->request(actors_->supervisor, caf::infinite, ListRuns{})
      .receive([&list](RunList& runs) { list = std::move(runs); }, [](const caf::error&) {});
  return list;
}

std::optional<RunStatus> EmbeddedReplica::status(const RunId& run) {
  for (const auto& [held, actor] : runs().runs) {
    if (held == run) {
      const caf::scoped_actor self{*system_};
      std::optional<RunStatus> status;
      self->request(actor, kLimits.tick, StatusRequest{})
          .receive([&status](RunStatus& answer) { status = std::move(answer); },
                   [](const caf::error&) {});
      return status;
    }
  }
  return std::nullopt;
}

void EmbeddedReplica::drain(Duration grace) {
  caf::anon_send(actors_->supervisor, Drain{grace});
  const BootTime deadline = clock_.boot() + grace + kDrainMargin;
  while (!runs().runs.empty() && clock_.boot() < deadline) {
    departures_.wait_for_any(kDrainLook);
  }
}

}  // namespace

Result<std::unique_ptr<Replica>> Replica::open(const ReplicaOptions& options) {
  auto replica = std::make_unique<EmbeddedReplica>();
  if (auto opened = replica->open(options); !opened) {
    return tl::unexpected<Error>{opened.error()};
  }
  return std::unique_ptr<Replica>{std::move(replica)};
}

std::string lease_path(const std::string& store_path) {
  return store_path + "-leases";
}

std::string store_folder(const std::string& store_path) {
  return store_path + ".d";
}

}  // namespace stagecall
