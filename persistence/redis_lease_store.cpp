#include "persistence/redis_lease_store.hpp"

#include "lua/lease_scripts.hpp"
#include "messages/limits.hpp"
#include "persistence/lease_value.hpp"
#include "persistence/percent.hpp"
#include "persistence/redis_quorum.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace stagecall {
namespace {

constexpr RedisScript kAcquire{lease_scripts::kAcquireLeasesSha1, lease_scripts::kAcquireLeases};
constexpr RedisScript kRenew{lease_scripts::kRenewLeasesSha1, lease_scripts::kRenewLeases};
constexpr RedisScript kRelease{lease_scripts::kReleaseLeasesSha1, lease_scripts::kReleaseLeases};
constexpr RedisScript kDraw{lease_scripts::kDrawNumberSha1, lease_scripts::kDrawNumber};

using Texts = std::vector<std::string>;
using Verdicts = std::vector<LeaseVerdict>;

class RedisLeaseStore final : public LeaseStore {
 public:
  RedisLeaseStore(const RedisLeaseOptions& options, const Clock& clock)
      : prefix_(redis_key_prefix(options.store_id)),
        self_(options.self),
        clock_(clock),
        quorum_(options.servers, "stagecall:" + percent_encoded(self_.replica), clock),
        doubtful_(options.servers.size()) {}

  Result<void> probe(const std::function<void(const Error&)>& on_absence);

  Result<Verdicts> acquire(const std::vector<LeaseRequest>& requests, Duration ttl) override;
  Result<Verdicts> renew(const std::vector<LeaseRequest>& requests, Duration ttl) override;
  Result<Verdicts> release(const std::vector<LeaseRequest>& requests) override;
  Result<std::vector<ReplicaIdentity>> holders(const std::vector<RunId>& runs) override;
  Result<std::uint64_t> draw_number() override;

 private:
  using Lease = std::pair<RunId, LeaseToken>;

  /// One call: its answers are due before its end, so that there is time left to undo.
  struct Call {
    BootTime start;
    BootTime answers_due;
    BootTime end;
  };
  Call begin() const;

  /// What each server said to each request; none: it is not known what it did.
  struct Votes {
    std::vector<std::optional<std::vector<bool>>> of_server{};
    std::size_t count = 0;  ///< servers that answered
    std::string complaints{};
    std::size_t granted(std::size_t request) const;
  };
  Votes vote(const RedisScript& script, const Texts& leading,
             const std::vector<LeaseRequest>& requests, const Call& call);
  RedisQuorum::Answers ask(const std::vector<RedisCommand>& commands, const Call& call);
  /// The largest number that a server drew, and how many remember it.
  struct Drawn {
    std::int64_t number = 0;
    std::size_t servers = 0;
  };
  Result<Drawn> draw_from(std::int64_t least, const Call& call);
  /// Verdicts by majority; `otherwise` for what has none.
  Verdicts decide(const Votes& votes, std::size_t count, LeaseVerdict otherwise) const;
  bool is_unknown(const Votes& votes) const { return votes.count < quorum_.majority(); }

  std::vector<RedisCommand> script_calls(const RedisScript& script, const Texts& leading,
                                         const std::vector<LeaseRequest>& requests) const;
  std::string key_of(const RunId& run) const { return prefix_ + "lease:" + run.text(); }
  tl::unexpected<Error> unavailable(std::size_t answered, const std::string& complaints) const;

  // A lease is doubtful on a server that may hold it though we do not count it as ours.
  void undo(const std::vector<LeaseRequest>& requests, const Votes& votes, const Verdicts& verdicts,
            const Call& call);
  void doubt(std::size_t server, const LeaseRequest& request);
  void trust_again(const std::vector<LeaseRequest>& requests);
  std::vector<RedisCommand> releases_of_doubtful(std::size_t server);

  std::string prefix_;
  ReplicaIdentity self_;
  const Clock& clock_;
  Duration ttl_ = kLimits.lease_ttl;
  RedisQuorum quorum_;
  std::vector<std::map<Lease, BootTime>> doubtful_;  // by server: until when it may hold it
};

// ---- The seam ----

Result<void> RedisLeaseStore::probe(const std::function<void(const Error&)>& on_absence) {
  const auto answers = ask({{.arguments = {"PING"}}}, begin());
  if (answers.count >= quorum_.majority() && !answers.is_refused) {
    return {};
  }
  auto absent = unavailable(answers.count, answers.complaints);
  if (!on_absence || answers.is_refused) {
    return absent;
  }
  on_absence(absent.value());
  return {};
}

Result<Verdicts> RedisLeaseStore::acquire(const std::vector<LeaseRequest>& requests, Duration ttl) {
  ttl_ = ttl;
  const Call call = begin();
  const Texts leading{std::to_string(ttl.count()), lease_holder_text(self_, clock_.wall())};
  const Votes votes = vote(kAcquire, leading, requests, call);
  const bool is_late = clock_.boot() >= call.start + ttl - lease_drift(ttl);
  if (is_unknown(votes) || is_late) {
    undo(requests, votes, Verdicts(requests.size(), LeaseVerdict::lost), call);
    return unavailable(votes.count, is_late ? "too late to count" : votes.complaints);
  }
  Verdicts verdicts = decide(votes, requests.size(), LeaseVerdict::busy);
  undo(requests, votes, verdicts, call);
  return verdicts;
}

Result<Verdicts> RedisLeaseStore::renew(const std::vector<LeaseRequest>& requests, Duration ttl) {
  ttl_ = ttl;
  const Call call = begin();
  const Votes votes = vote(kRenew, {std::to_string(ttl.count())}, requests, call);
  if (is_unknown(votes)) {
    return unavailable(votes.count, votes.complaints);
  }
  Verdicts verdicts = decide(votes, requests.size(), LeaseVerdict::lost);
  undo(requests, votes, verdicts, call);
  return verdicts;
}

Result<Verdicts> RedisLeaseStore::release(const std::vector<LeaseRequest>& requests) {
  const Votes votes = vote(kRelease, {}, requests, begin());
  for (std::size_t server = 0; server < quorum_.size(); ++server) {
    if (!votes.of_server[server]) {
      for (const LeaseRequest& request : requests) {
        doubt(server, request);
      }
    }
  }
  if (is_unknown(votes)) {
    return unavailable(votes.count, votes.complaints);
  }
  return decide(votes, requests.size(), LeaseVerdict::lost);
}

Result<std::vector<ReplicaIdentity>> RedisLeaseStore::holders(const std::vector<RunId>& runs) {
  std::vector<RedisCommand> commands;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i % kLimits.lease_keys_max == 0) {
      commands.push_back({.arguments = {"MGET"}});
    }
    commands.back().arguments.push_back(key_of(runs[i]));
  }
  const auto answers = ask(commands, begin());
  if (answers.count < quorum_.majority()) {
    return unavailable(answers.count, answers.complaints);
  }
  // A token may have its majority on servers that did not answer.
  const std::size_t silent = quorum_.size() - answers.count;
  std::vector<ReplicaIdentity> holders(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::map<LeaseToken, std::size_t> seen;
    for (const auto& replies : answers.of_server) {
      const auto keys = kLimits.lease_keys_max;
      const auto lease =
          replies ? parse_lease_value(replies->at(i / keys).items.at(i % keys).text) : std::nullopt;
      if (lease && ++seen[lease->token] + silent >= quorum_.majority()) {
        holders[i] = lease->holder;
      }
    }
  }
  return holders;
}

/// Whoever draws next asks a majority, and one server of it is among those that answer here. So it
/// suffices that a majority remembers what is given out; if some are behind all are told.
Result<std::uint64_t> RedisLeaseStore::draw_number() {
  const Call call = begin();
  const auto drawn = draw_from(least_number(clock_.wall()), call);
  if (!drawn) {
    return tl::unexpected<Error>{drawn.error()};
  }
  if (drawn->servers < quorum_.majority()) {
    if (const auto told = draw_from(drawn->number, call); !told) {
      return tl::unexpected<Error>{told.error()};
    }
  }
  return static_cast<std::uint64_t>(drawn->number);
}

Result<RedisLeaseStore::Drawn> RedisLeaseStore::draw_from(std::int64_t least, const Call& call) {
  const std::string kept = std::to_string(kLimits.lease_number_kept.count());
  const auto answers = ask({{.arguments = {"EVALSHA", std::string{kDraw.sha1}, "1",
                                           prefix_ + "number", std::to_string(least), kept},
                             .script = &kDraw}},
                           call);
  if (answers.count < quorum_.majority()) {
    return unavailable(answers.count, answers.complaints);
  }
  Drawn drawn;
  for (const auto& replies : answers.of_server) {
    const std::int64_t number = replies ? replies->at(0).integer : 0;
    if (number > drawn.number) {
      drawn = {.number = number, .servers = 0};
    }
    drawn.servers += number == drawn.number ? 1 : 0;
  }
  return drawn;
}

// ---- Asking ----

RedisLeaseStore::Call RedisLeaseStore::begin() const {
  const BootTime now = clock_.boot();
  return {.start = now, .answers_due = now + ttl_ / 10 * 4 / 5, .end = now + ttl_ / 10};
}

RedisQuorum::Answers RedisLeaseStore::ask(const std::vector<RedisCommand>& commands,
                                          const Call& call) {
  std::vector<std::vector<RedisCommand>> of_server;
  std::vector<std::size_t> releases;
  for (std::size_t server = 0; server < quorum_.size(); ++server) {
    auto all = releases_of_doubtful(server);
    releases.push_back(all.size());
    all.insert(all.end(), commands.begin(), commands.end());
    of_server.push_back(std::move(all));
  }
  auto answers = quorum_.ask(std::move(of_server), call.answers_due, ttl_ / 100);
  for (std::size_t server = 0; server < quorum_.size(); ++server) {
    if (auto& replies = answers.of_server[server]) {
      replies->erase(replies->begin(),
                     replies->begin() + static_cast<std::ptrdiff_t>(releases[server]));
      doubtful_[server].clear();
    }
  }
  return answers;
}

RedisLeaseStore::Votes RedisLeaseStore::vote(const RedisScript& script, const Texts& leading,
                                             const std::vector<LeaseRequest>& requests,
                                             const Call& call) {
  trust_again(requests);
  auto answers = ask(script_calls(script, leading, requests), call);
  Votes votes{.complaints = std::move(answers.complaints)};
  for (const auto& replies : answers.of_server) {
    std::vector<bool> granted;
    for (const RedisReply& reply : replies.value_or(std::vector<RedisReply>{})) {
      for (const RedisReply& verdict : reply.items) {
        granted.push_back(verdict.integer == 1);
      }
    }
    const bool is_whole = replies && granted.size() == requests.size();
    votes.count += is_whole ? 1 : 0;
    votes.of_server.push_back(is_whole ? std::optional{std::move(granted)} : std::nullopt);
  }
  return votes;
}

std::size_t RedisLeaseStore::Votes::granted(std::size_t request) const {
  return static_cast<std::size_t>(
      std::count_if(of_server.begin(), of_server.end(),
                    [request](const auto& server) { return server && (*server)[request]; }));
}

Verdicts RedisLeaseStore::decide(const Votes& votes, std::size_t count,
                                 LeaseVerdict otherwise) const {
  Verdicts verdicts;
  verdicts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    verdicts.push_back(votes.granted(i) >= quorum_.majority() ? LeaseVerdict::granted : otherwise);
  }
  return verdicts;
}

std::vector<RedisCommand> RedisLeaseStore::script_calls(
    const RedisScript& script, const Texts& leading,
    const std::vector<LeaseRequest>& requests) const {
  std::vector<RedisCommand> calls;
  for (std::size_t first = 0; first < requests.size(); first += kLimits.lease_keys_max) {
    const std::size_t last = std::min(first + kLimits.lease_keys_max, requests.size());
    Texts arguments{"EVALSHA", std::string{script.sha1}, std::to_string(last - first)};
    for (std::size_t i = first; i < last; ++i) {
      arguments.push_back(key_of(requests[i].run));
    }
    arguments.insert(arguments.end(), leading.begin(), leading.end());
    for (std::size_t i = first; i < last; ++i) {
      arguments.push_back(lease_mark(requests[i].token));
    }
    calls.push_back({.arguments = std::move(arguments), .script = &script});
  }
  return calls;
}

tl::unexpected<Error> RedisLeaseStore::unavailable(std::size_t answered,
                                                   const std::string& complaints) const {
  const std::string counts = quorum_.size() == 1
                                 ? ""
                                 : std::to_string(answered) + " of " +
                                       std::to_string(quorum_.size()) + " servers answered, " +
                                       std::to_string(quorum_.majority()) + " are needed: ";
  return fail(ErrorCode::lease_unavailable,
              "leases: " + counts + complaints + "; counted as not owned until they answer");
}

// ---- What may have been taken ----

void RedisLeaseStore::undo(const std::vector<LeaseRequest>& requests, const Votes& votes,
                           const Verdicts& verdicts, const Call& call) {
  std::vector<std::vector<RedisCommand>> releases(quorum_.size());
  for (std::size_t server = 0; server < quorum_.size(); ++server) {
    const auto& granted = votes.of_server[server];
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (verdicts[i] != LeaseVerdict::granted && (!granted || (*granted)[i])) {
        doubt(server, requests[i]);
      }
    }
    if (granted) {
      releases[server] = releases_of_doubtful(server);
    }
  }
  const bool is_needed =
      std::any_of(releases.begin(), releases.end(), [](const auto& one) { return !one.empty(); });
  if (!is_needed) {
    return;
  }
  const auto answers = quorum_.ask(std::move(releases), call.end, call.end - call.answers_due);
  for (std::size_t server = 0; server < quorum_.size(); ++server) {
    if (votes.of_server[server] && answers.of_server[server]) {
      doubtful_[server].clear();
    }
  }
}

void RedisLeaseStore::doubt(std::size_t server, const LeaseRequest& request) {
  if (doubtful_[server].size() < kLimits.lease_undo_max) {
    doubtful_[server][{request.run, request.token}] = clock_.boot() + ttl_;
  }
}

/// Asked for again with the same token: it is not to be undone.
void RedisLeaseStore::trust_again(const std::vector<LeaseRequest>& requests) {
  for (auto& leases : doubtful_) {
    for (std::size_t i = 0; i < requests.size() && !leases.empty(); ++i) {
      leases.erase({requests[i].run, requests[i].token});
    }
  }
}

std::vector<RedisCommand> RedisLeaseStore::releases_of_doubtful(std::size_t server) {
  const BootTime now = clock_.boot();
  std::vector<LeaseRequest> requests;
  std::erase_if(doubtful_[server], [now](const auto& lease) { return lease.second <= now; });
  for (const auto& [lease, until] : doubtful_[server]) {
    requests.push_back({lease.first, lease.second});
  }
  return script_calls(kRelease, {}, requests);
}

}  // namespace

std::string redis_key_prefix(const std::string& store_id) {
  return "stagecall:{" + store_id + "}:";
}

Result<std::unique_ptr<LeaseStore>> open_redis_lease_store(const RedisLeaseOptions& options,
                                                           const Clock& clock) {
  if (auto allowed = check_redis_servers(options.servers, "lease server"); !allowed) {
    return tl::unexpected<Error>{std::move(allowed).error()};
  }
  if (options.store_id.empty()) {
    return fail(ErrorCode::invalid_argument, "leases need the id of their store; it is empty");
  }
  auto store = std::make_unique<RedisLeaseStore>(options, clock);
  if (auto found = store->probe(options.on_absence); !found) {
    return tl::unexpected<Error>{std::move(found).error()};
  }
  return store;
}

}  // namespace stagecall
