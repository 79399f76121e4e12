#include "tests/sim/sim_leases.hpp"

namespace stagecall::sim {
namespace {

tl::unexpected<Error> no_answer(const char* why) {
  return fail(ErrorCode::lease_unavailable, std::string{"ask for leases: simulated: "} + why);
}

const char* text_of(LeaseVerdict verdict) {
  switch (verdict) {
    case LeaseVerdict::granted: return "granted";
    case LeaseVerdict::busy: return "busy";
    case LeaseVerdict::lost: return "lost";
  }
  return "?";
}

}  // namespace

void LeaseServer::flush() {
  leases_ = make_memory_leases();
  ++generation_;
  for (const auto& [run, holders] : grants_) {
    forgotten_[run] = universe_.now;
  }
}

void LeaseServer::forget(const RunId& run) {
  const auto found = grants_.find(run);
  if (found == grants_.end()) {
    return;
  }
  const auto line = connect({});
  for (const auto& [incarnation, grant] : found->second) {
    (void)line->release({{run, grant.token}});
  }
  forgotten_[run] = universe_.now;
}

std::unique_ptr<LeaseStore> LeaseServer::connect(const ReplicaIdentity& holder) const {
  return open_memory_lease_store(leases_, holder, clock_);
}

void LeaseServer::granted(const std::string& incarnation, const LeaseRequest& request,
                          Duration ttl) {
  grants_[request.run][incarnation] = {request.token, universe_.now + ttl};
}

void LeaseServer::released(const std::string& incarnation, const LeaseRequest& request) {
  auto& holders = grants_[request.run];
  if (const auto found = holders.find(incarnation);
      found != holders.end() && found->second.token == request.token) {
    holders.erase(found);
  }
}

BootTime LeaseServer::kept_until(const std::string& incarnation, const RunId& run) const {
  const auto holders = grants_.find(run);
  if (holders == grants_.end()) {
    return BootTime{};
  }
  const auto found = holders->second.find(incarnation);
  return found == holders->second.end() ? BootTime{} : found->second.until;
}

LeaseStore& SimLeases::line() {
  if (!line_ || generation_ != server_.generation()) {
    line_ = server_.connect(holder_);
    generation_ = server_.generation();
  }
  return *line_;
}

void SimLeases::note(const std::string& what, const LeaseRequest& request,
                     const std::string& answer) {
  universe_.note("lease " + what + " " + holder_.replica + " " + request.run.text() + " " + answer);
}

template <class Ask>
SimLeases::Verdicts SimLeases::call(const std::string& what,
                                    const std::vector<LeaseRequest>& requests, Duration ttl,
                                    Ask ask) {
  if (!is_alive_) {
    return no_answer("its caller has crashed");
  }
  if (server_.is_away() || universe_.now < cut_until_ || universe_.strikes("lease.refuse")) {
    universe_.note("lease " + what + " " + holder_.replica + " unavailable");
    return no_answer("not reached");
  }
  // A call is bounded by a tenth of the ttl; its work may be done at any moment of it.
  if (universe_.strikes("lease.slow")) {
    universe_.spend(universe_.dice.between(Duration{1}, ttl / 20));
  }
  const Verdicts verdicts = ask(line());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const LeaseVerdict verdict = (*verdicts)[i];
    note(what, requests[i], text_of(verdict));
    if (what == "release") {
      server_.released(holder_.incarnation, requests[i]);
    } else if (verdict == LeaseVerdict::granted) {
      server_.granted(holder_.incarnation, requests[i], ttl);
    }
  }
  if (universe_.strikes("lease.slow")) {
    universe_.spend(universe_.dice.between(Duration{1}, ttl / 20));
  }
  if (universe_.strikes("lease.deaf")) {
    return no_answer("done, and the answer lost");
  }
  return verdicts;
}

SimLeases::Verdicts SimLeases::acquire(const std::vector<LeaseRequest>& requests, Duration ttl) {
  return call("acquire", requests, ttl,
              [&](LeaseStore& store) { return store.acquire(requests, ttl); });
}

SimLeases::Verdicts SimLeases::renew(const std::vector<LeaseRequest>& requests, Duration ttl) {
  return call("renew", requests, ttl,
              [&](LeaseStore& store) { return store.renew(requests, ttl); });
}

SimLeases::Verdicts SimLeases::release(const std::vector<LeaseRequest>& requests) {
  return call("release", requests, Duration{1'000},
              [&](LeaseStore& store) { return store.release(requests); });
}

Result<std::vector<ReplicaIdentity>> SimLeases::holders(const std::vector<RunId>& runs) {
  return line().holders(runs);
}

Result<std::uint64_t> SimLeases::draw_number() {
  return line().draw_number();
}

}  // namespace stagecall::sim
