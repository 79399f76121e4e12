// W5: leases in a real Redis: taken and given back, renewed, and one key that eight want. Beside
// the same number of plain commands, pipelined over the same kind of connection.
#include "bench/catalogue.hpp"
#include "bench/machine.hpp"
#include "bench/redis_server.hpp"
#include "persistence/redis_lease_store.hpp"
#include "platform/process.hpp"
#include "platform/random.hpp"
#include "platform/system_clock.hpp"
#include "stagecall/locks.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace stagecall::bench {
namespace {

constexpr std::size_t kBatch = 1'000;
constexpr std::uint64_t kContenders = 8;
constexpr Duration kTtl{30'000};

using Requests = std::vector<LeaseRequest>;

Measurement measured(const std::string& part, const std::string& variant, std::uint64_t n,
                     const Stopwatch& watch) {
  return {.workload = "W5",
          .part = part,
          .variant = variant,
          .n = n,
          .unit = part == "renew" ? "renewals" : "pairs",
          .nodes = n,
          .seconds = watch.seconds(),
          .cpu_percent = watch.cpu_percent(),
          .rss_mb = resident_mb()};
}

std::vector<Requests> batches(std::uint64_t n) {
  std::vector<Requests> batches;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (i % kBatch == 0) {
      batches.emplace_back();
    }
    batches.back().push_back(
        {.run = {.pipeline = "bench", .iteration = i + 1}, .token = random_id()});
  }
  return batches;
}

bool all_granted(const Result<std::vector<LeaseVerdict>>& verdicts) {
  return verdicts && std::all_of(verdicts->begin(), verdicts->end(), [](LeaseVerdict verdict) {
           return verdict == LeaseVerdict::granted;
         });
}

tl::unexpected<Error> refused() {
  return fail(ErrorCode::lease_unavailable, "a lease of a free key was not granted");
}

Measurements by_lease_store(const RedisProcess& server, std::uint64_t n) {
  const SystemClock clock;
  auto store = open_redis_lease_store(
      {.servers = {server.address()},
       .store_id = random_id(),
       .self = {.replica = "bench", .incarnation = random_id(), .process = this_process()}},
      clock);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  const std::vector<Requests> keys = batches(n);
  const Stopwatch pairs;
  for (const Requests& batch : keys) {
    if (!all_granted((*store)->acquire(batch, kTtl)) || !all_granted((*store)->release(batch))) {
      return refused();
    }
  }
  std::vector<Measurement> all{measured("distinct", "stagecall", n, pairs)};
  for (const Requests& batch : keys) {
    if (!all_granted((*store)->acquire(batch, kTtl))) {
      return refused();
    }
  }
  const Stopwatch renewals;
  for (const Requests& batch : keys) {
    if (!all_granted((*store)->renew(batch, kTtl))) {
      return refused();
    }
  }
  all.push_back(measured("renew", "stagecall", n, renewals));
  return all;
}

/// Plain commands, a batch at a time: what the connection and the server can do at most.
Measurements by_plain_commands(const RedisProcess& server, std::uint64_t n) {
  RedisClient client{server.address(), "bench-plain"};
  const std::string ttl = std::to_string(kTtl.count());
  const auto send = [&](const Requests& batch, auto arguments_of) -> Result<void> {
    std::vector<RedisCommand> commands;
    for (const LeaseRequest& request : batch) {
      commands.push_back({.arguments = arguments_of(request)});
    }
    return ask(client, std::move(commands)).map([](const auto&) {});
  };
  using Words = std::vector<std::string>;
  const auto set = [&ttl](const LeaseRequest& request) {
    return Words{"SET", request.run.text(), request.token, "NX", "PX", ttl};
  };
  const auto del = [](const LeaseRequest& request) { return Words{"DEL", request.run.text()}; };
  const auto expire = [&ttl](const LeaseRequest& request) {
    return Words{"PEXPIRE", request.run.text(), ttl};
  };
  const std::vector<Requests> keys = batches(n);
  const Stopwatch pairs;
  for (const Requests& batch : keys) {
    if (const auto done = send(batch, set).and_then([&] { return send(batch, del); }); !done) {
      return tl::unexpected<Error>{done.error()};
    }
  }
  std::vector<Measurement> all{measured("distinct", "redis-ceiling", n, pairs)};
  for (const Requests& batch : keys) {
    if (const auto done = send(batch, set); !done) {
      return tl::unexpected<Error>{done.error()};
    }
  }
  const Stopwatch renewals;
  for (const Requests& batch : keys) {
    if (const auto done = send(batch, expire); !done) {
      return tl::unexpected<Error>{done.error()};
    }
  }
  all.push_back(measured("renew", "redis-ceiling", n, renewals));
  return all;
}

/// Eight threads that want one key, each by its own connection, as a host's code would.
Measurements contended(const RedisProcess& server, std::uint64_t pairs) {
  const auto service = LockService::redis({server.url()}, "bench");
  if (!service) {
    return tl::unexpected<Error>{service.error()};
  }
  std::mutex mutex;
  std::vector<double> waits;
  std::atomic<bool> has_failed = false;
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kContenders; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t k = 0; k < std::max<std::uint64_t>(1, pairs / kContenders); ++k) {
        const Stopwatch wait;
        auto lease = acquire_lease(*service, "one", {.wait = LockWait::forever(), .ttl = kTtl});
        has_failed = has_failed || !lease || !lease->release();
        const std::lock_guard lock{mutex};
        waits.push_back(wait.seconds() * 1'000);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (has_failed) {
    return refused();
  }
  Measurement done = measured("contended", "stagecall", waits.size(), watch);
  done.p50_ms = percentile(waits, 0.5);
  done.p99_ms = percentile(waits, 0.99);
  return std::vector{done};
}

Measurements measure_leases(const std::string& folder, std::uint64_t n) {
  const auto server = RedisProcess::start(folder);
  if (!server) {
    return tl::unexpected<Error>{server.error()};
  }
  std::vector<Measurement> all;
  for (auto part : {by_lease_store(*server, n), by_plain_commands(*server, n),
                    contended(*server, std::max<std::uint64_t>(kContenders, n / 10))}) {
    if (!part) {
      return part;
    }
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

}  // namespace

std::vector<Case> lease_cases(const Request& request) {
  return {
      [n = request.size(10'000)](const std::string& folder) { return measure_leases(folder, n); }};
}

}  // namespace stagecall::bench
