// W4: n runs that wait for somebody outside: what they cost while nothing happens, with leases in a
// file and in Redis. Ticks are watched in a second window: a trace has its own costs.
#include "bench/catalogue.hpp"
#include "bench/engine_runs.hpp"
#include "bench/machine.hpp"
#include "bench/redis_server.hpp"

#include <malloc.h>

#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

namespace stagecall::bench {
namespace {

constexpr std::chrono::seconds kTickWindow{6};  // a tick of each run
constexpr std::chrono::milliseconds kSettle{500};

/// How late the runs' timers fire.
class Lateness final : public TraceSink {
 public:
  void take(const std::vector<TraceEvent>& events) override {
    const std::lock_guard lock{mutex_};
    for (const TraceEvent& event : events) {
      if (const auto* tick = std::get_if<TracedTick>(&event)) {
        late_ms_.push_back(static_cast<double>(tick->late.count()));
      }
    }
  }
  std::vector<double> late_ms() {
    const std::lock_guard lock{mutex_};
    return late_ms_;
  }

 private:
  std::mutex mutex_;
  std::vector<double> late_ms_;
};

/// Commands that the server has handled so far; 0 without one.
double redis_commands(RedisClient* client) {
  const auto replies = client != nullptr
                           ? ask(*client, {{.arguments = {"INFO", "stats"}}})
                           : Result<std::vector<RedisReply>>{std::vector<RedisReply>{}};
  const std::string text = replies && !replies->empty() ? replies->front().text : std::string{};
  const std::string name = "total_commands_processed:";
  const auto at = text.find(name);
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size()));
}

double resident_after_trim() {
  ::malloc_trim(0);
  return resident_mb();
}

/// Until no commit comes any more.
void settle(Engine& engine) {
  std::uint64_t before = 0;
  wait_until(
      [&] {
        const std::uint64_t now = engine.counters()["store.commits"];
        return std::exchange(before, now) == now;
      },
      kSettle);
}

Result<Measurement> watch_idle(const EngineOptions& options, const RedisProcess* redis,
                               const Request& request, std::uint64_t n) {
  const double resident_before = resident_after_trim();
  auto engine = open_engine(options);
  if (!engine) {
    return tl::unexpected<Error>{engine.error()};
  }
  const Workload workload = waiting_runs(n);
  if (const auto runs = start_all(*engine, workload); !runs) {
    return tl::unexpected<Error>{runs.error()};
  }
  settle(*engine);
  std::optional<RedisClient> client;
  if (redis != nullptr) {
    client.emplace(redis->address(), "bench-info");
  }
  RedisClient* const info = client ? &*client : nullptr;

  Measurement idle{.workload = "W4",
                   .variant = redis != nullptr ? "stagecall-redis" : "stagecall",
                   .n = n,
                   .unit = "runs",
                   .nodes = n};
  const double resident = resident_after_trim();
  const std::uint64_t commits = engine->counters()["store.commits"];
  const double commands = redis_commands(info);
  const double redis_cpu = redis != nullptr ? cpu_seconds_of_process(redis->pid()) : 0;
  const std::uint64_t wakeups_before = wakeups();
  const Stopwatch watch;
  std::this_thread::sleep_for(request.window);
  idle.seconds = watch.seconds();
  idle.cpu_percent = watch.cpu_percent();
  idle.more["wakeups_per_s"] = static_cast<double>(wakeups() - wakeups_before) / idle.seconds;
  idle.more["bytes_a_run"] = (resident - resident_before) * 1'048'576 / static_cast<double>(n);
  idle.rss_mb = resident_mb();
  if (redis != nullptr) {
    // The question itself is one of them.
    idle.more["redis_commands_per_s"] = (redis_commands(info) - commands - 1) / idle.seconds;
    idle.more["redis_cpu_pct"] =
        100 * (cpu_seconds_of_process(redis->pid()) - redis_cpu) / idle.seconds;
  }
  idle.commits = engine->counters()["store.commits"] - commits;

  const auto lateness = std::make_shared<Lateness>();
  engine->trace({.sink = lateness, .kinds = {"pipeline"}});
  std::this_thread::sleep_for(std::min<std::chrono::seconds>(kTickWindow, request.window));
  engine->trace({});
  const std::vector<double> late = lateness->late_ms();
  idle.more["ticks_seen"] = static_cast<double>(late.size());
  idle.more["tick_late_p50_ms"] = percentile(late, 0.5).value_or(0);
  idle.more["tick_late_p99_ms"] = percentile(late, 0.99).value_or(0);
  return idle;
}

Case with_file(const Request& request, std::uint64_t n) {
  return [request, n](const std::string& folder) -> Measurements {
    return watch_idle(usual_options(folder), nullptr, request, n).map([](Measurement idle) {
      return std::vector{std::move(idle)};
    });
  };
}

Case with_redis(const Request& request, std::uint64_t n) {
  return [request, n](const std::string& folder) -> Measurements {
    const auto redis = RedisProcess::start(folder);
    if (!redis) {
      return tl::unexpected<Error>{redis.error()};
    }
    EngineOptions options = usual_options(folder);
    options.leases = {redis->url()};
    return watch_idle(options, &*redis, request, n).map([](Measurement idle) {
      return std::vector{std::move(idle)};
    });
  };
}

}  // namespace

std::vector<Case> idle_cases(const Request& request) {
  std::vector<Case> cases;
  for (const std::uint64_t n :
       request.n > 0 ? std::vector{request.n} : std::vector<std::uint64_t>{1'000, 10'000}) {
    cases.push_back(with_file(request, n));
    cases.push_back(with_redis(request, n));
  }
  return cases;
}

}  // namespace stagecall::bench
