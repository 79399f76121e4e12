// One trusted holder at a time, for any code: a lease on a key, renewed while its holder works.
// What engines use for their runs, for a host's own work.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecall {

/// Where locks are kept. Copies share their connections; any thread may use one.
class LockService {
 public:
  /// One Redis server, or an odd number of independent ones of which a majority decides:
  /// `redis://[user:password@]host:port[/db]`. Who shall exclude each other give the same servers
  /// and the same `space`. invalid_argument, lease_unavailable (a wrong password too), or
  /// unsupported for `rediss://`.
  static Result<LockService> redis(const std::vector<std::string>& urls, const std::string& space);
  /// A file, made as needed, for the processes of one host.
  static Result<LockService> file(const std::string& path);
  /// Among the threads of this process that share it.
  static LockService memory();

  /// What is behind it; not for hosts.
  struct Shared;
  /// Not for hosts.
  explicit LockService(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  /// Not for hosts.
  const std::shared_ptr<Shared>& shared() const { return shared_; }

 private:
  std::shared_ptr<Shared> shared_;  // by all copies, and by the leases taken there
};

/// How long to wait for a key that is held.
class LockWait {
 public:
  /// One try.
  static LockWait none() { return LockWait{Duration{0}}; }
  /// More than 0, else the acquisition is refused as invalid_argument.
  static LockWait at_most(Duration bound) {
    return LockWait{bound > Duration{0} ? bound : Duration{-1}};
  }
  /// Until it is ours or the wait is cancelled.
  static LockWait forever() { return LockWait{std::nullopt}; }

  /// 0 = not at all, less = not allowed, none = for ever.
  std::optional<Duration> bound() const { return bound_; }

 private:
  explicit LockWait(std::optional<Duration> bound) : bound_(bound) {}
  std::optional<Duration> bound_;
};

/// How a key is taken.
struct LockOptions {
  LockWait wait = LockWait::none();  ///< while somebody else holds it
  Duration ttl{15'000};              ///< 1 s … 10 min: how long after a crash the key stays taken
  std::stop_token cancel{};          ///< ends the wait for the key
};

/// The right to a key, kept by a thread of its own that renews it at a third of the ttl. Released
/// when destroyed. Any thread may use it; moved from, it is only to be destroyed.
class Lease {
 public:
  /// Moved from, it is only to be destroyed or assigned to.
  Lease(Lease&&) noexcept;
  /// Releases the one that stood here.
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  /// Larger than that of every earlier holder of the key: check it at your own resource, which then
  /// can refuse who comes too late. Redis remembers the last one for 30 days after it was drawn;
  /// what it forgets, or loses, is made up for by the hosts' wall clocks.
  std::uint64_t number() const;
  /// Requested as soon as the lease is lost, or can no longer be trusted: end then. A lease is
  /// trusted until the ttl, less the drift of clocks, has passed since the last renewal was asked.
  std::stop_token stop_token() const;
  /// How long the key was waited for.
  Duration waited() const;
  /// How long ago it was taken.
  Duration held() const;

  /// Gives the key back now. lease_lost: it was no longer ours; lease_unavailable: it may stay
  /// taken until its ttl ends. Later calls change nothing and tell the same. Not from a callback of
  /// the stop_token.
  Result<void> release();

 private:
  friend Result<Lease> acquire_lease(const LockService&, const std::string&, const LockOptions&);
  class Keeper;
  explicit Lease(std::unique_ptr<Keeper> keeper);
  std::unique_ptr<Keeper> keeper_;
};

/// Takes the key, 1 to 255 bytes. invalid_argument: not allowed; when the wait is over, or
/// cancelled, what the last try met: lease_busy: somebody else holds it; lease_unavailable: the
/// service cannot be asked, or fewer than a majority of its servers answer.
Result<Lease> acquire_lease(const LockService& service, const std::string& key,
                            const LockOptions& options = {});

/// What `exclusive` asks of the call's arguments.
template <class... Arguments>
struct ExclusiveOptions {
  std::function<std::string(const Arguments&...)> key;              ///< which key
  std::function<Result<LockService>(const Arguments&...)> service;  ///< kept where
  LockOptions lock{};                                               ///< taken how
};

namespace exclusive_detail {

template <class T>
struct ResultOf {
  using type = Result<T>;
};
template <class T>
struct ResultOf<Result<T>> {
  using type = Result<T>;
};

/// Bodies may take the lease before their arguments.
template <class Body, class... Arguments>
decltype(auto) call(Body& body, Lease& lease, Arguments&... arguments) {
  if constexpr (std::is_invocable_v<Body&, Lease&, Arguments&...>) {
    return body(lease, arguments...);
  } else {
    return body(arguments...);
  }
}

}  // namespace exclusive_detail

/// Calls `body(lease, arguments…)`, or `body(arguments…)`, while holding the key; the result is the
/// body's, or why it was not called: the errors of acquire_lease, of the builders. lease_lost: it
/// was called and has returned, but the lease did not last as long; what it returned is dropped.
/// Released on every exit, also by an exception, which goes on to the caller.
template <class Body, class... Arguments>
auto exclusive(const ExclusiveOptions<std::decay_t<Arguments>...>& options, Body&& body,
               Arguments&&... arguments) {
  using Returned =
      std::decay_t<decltype(exclusive_detail::call(body, std::declval<Lease&>(), arguments...))>;
  using Answer = typename exclusive_detail::ResultOf<Returned>::type;
  if (!options.key || !options.service) {
    return Answer{fail(ErrorCode::invalid_argument, "exclusive needs a key and a service builder")};
  }
  const Result<LockService> service = options.service(arguments...);
  if (!service) {
    return Answer{tl::unexpected<Error>{service.error()}};
  }
  Result<Lease> lease = acquire_lease(*service, options.key(arguments...), options.lock);
  if (!lease) {
    return Answer{tl::unexpected<Error>{lease.error()}};
  }
  const auto ended = [&lease](Answer answer) {
    const Result<void> released = lease->release();
    if (!released && released.error().code == ErrorCode::lease_lost) {
      return Answer{tl::unexpected<Error>{released.error()}};
    }
    return answer;
  };
  if constexpr (std::is_void_v<Returned>) {
    exclusive_detail::call(body, *lease, arguments...);
    return ended(Answer{});
  } else {
    return ended(Answer{exclusive_detail::call(body, *lease, arguments...)});
  }
}

/// What exclusive_periodic does its rounds by.
struct PeriodicOptions {
  LockService service;     ///< where the key is kept
  std::string key;         ///< 1 to 255 bytes; the same for all who are to take turns
  Duration period;         ///< more than 0, from the beginning of one round to that of the next
  Duration ttl{15'000};    ///< 1 s … 10 min: another leads so soon after the leader has died
  std::stop_token stop{};  ///< ends it
};

/// Leads while it can: waits for the key, then calls `round` once a period, the first time at once,
/// as long as the lease lasts; then waits for the key again. Of all that do so with one key at most
/// one leads. Blocks until `stop`, which a round must heed by itself; then gives the key back. An
/// exception of the round gives the key back and goes on to the caller. invalid_argument at once; a
/// service that is not available is asked again.
Result<void> exclusive_periodic(const PeriodicOptions& options,
                                const std::function<void(Lease&)>& round);

}  // namespace stagecall
