#include "persistence/memory_lease_store.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace stagecall {
namespace {

struct Lease {
  LeaseToken token;
  BootTime expires;
  ReplicaIdentity holder;
};

}  // namespace

struct MemoryLeases {
  std::mutex mutex{};
  std::map<RunId, Lease> held{};  // expired ones go when they are met
  std::uint64_t last_number = 0;
};

namespace {

class MemoryLeaseStore final : public LeaseStore {
 public:
  MemoryLeaseStore(std::shared_ptr<MemoryLeases> leases, ReplicaIdentity holder, const Clock& clock)
      : leases_(std::move(leases)), holder_(std::move(holder)), clock_(clock) {}

  Result<std::vector<LeaseVerdict>> acquire(const std::vector<LeaseRequest>& requests,
                                            Duration ttl) override {
    return ask_all<LeaseVerdict>(requests, [&](const LeaseRequest& request, BootTime now) {
      const Lease* lease = find(request.run, now);
      if (lease != nullptr && lease->token != request.token) {
        return LeaseVerdict::busy;
      }
      leases_->held.insert_or_assign(request.run, Lease{request.token, now + ttl, holder_});
      return LeaseVerdict::granted;
    });
  }

  Result<std::vector<LeaseVerdict>> renew(const std::vector<LeaseRequest>& requests,
                                          Duration ttl) override {
    return ask_all<LeaseVerdict>(requests, [&](const LeaseRequest& request, BootTime now) {
      Lease* lease = find(request.run, now);
      if (lease == nullptr || lease->token != request.token) {
        return LeaseVerdict::lost;
      }
      lease->expires = now + ttl;
      return LeaseVerdict::granted;
    });
  }

  Result<std::vector<LeaseVerdict>> release(const std::vector<LeaseRequest>& requests) override {
    return ask_all<LeaseVerdict>(requests, [&](const LeaseRequest& request, BootTime now) {
      const Lease* lease = find(request.run, now);
      if (lease == nullptr || lease->token != request.token) {
        return LeaseVerdict::lost;
      }
      leases_->held.erase(request.run);
      return LeaseVerdict::granted;
    });
  }

  Result<std::vector<ReplicaIdentity>> holders(const std::vector<RunId>& runs) override {
    return ask_all<ReplicaIdentity>(runs, [this](const RunId& run, BootTime now) {
      const Lease* lease = find(run, now);
      return lease == nullptr ? ReplicaIdentity{} : lease->holder;
    });
  }

  Result<std::uint64_t> draw_number() override {
    const std::lock_guard lock{leases_->mutex};
    const auto least = static_cast<std::uint64_t>(least_number(clock_.wall()));
    leases_->last_number = std::max(leases_->last_number + 1, least);
    return leases_->last_number;
  }

 private:
  /// All of a batch at one moment.
  template <class Answer, class Request, class Ask>
  std::vector<Answer> ask_all(const std::vector<Request>& requests, Ask ask) {
    const std::lock_guard lock{leases_->mutex};
    const BootTime now = clock_.boot();
    std::vector<Answer> answers;
    answers.reserve(requests.size());
    for (const Request& request : requests) {
      answers.push_back(ask(request, now));
    }
    return answers;
  }

  /// None = nobody holds it.
  Lease* find(const RunId& run, BootTime now) {
    const auto found = leases_->held.find(run);
    if (found == leases_->held.end()) {
      return nullptr;
    }
    if (found->second.expires <= now) {
      leases_->held.erase(found);
      return nullptr;
    }
    return &found->second;
  }

  std::shared_ptr<MemoryLeases> leases_;  // shared: the other connections use them, too
  ReplicaIdentity holder_;
  const Clock& clock_;
};

}  // namespace

std::shared_ptr<MemoryLeases> make_memory_leases() {
  return std::make_shared<MemoryLeases>();
}

std::unique_ptr<LeaseStore> open_memory_lease_store(std::shared_ptr<MemoryLeases> leases,
                                                    const ReplicaIdentity& holder,
                                                    const Clock& clock) {
  return std::make_unique<MemoryLeaseStore>(std::move(leases), holder, clock);
}

}  // namespace stagecall
