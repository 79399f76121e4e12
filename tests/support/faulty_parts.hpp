// The real store and lease store, with faults on demand in front of them.
#pragma once

#include "persistence/lease_store.hpp"
#include "persistence/store.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::testing {

/// Counts the calls through a seam; the one of this number is struck.
struct NthCall {
  std::size_t at = 0;  ///< from 1; 0: none
  std::size_t calls = 0;
  bool strikes() { return ++calls == at; }
};

class FaultyStore final : public Store {
 public:
  enum class Fault : std::uint8_t {
    none,
    unavailable,       ///< nothing is written, every call says so
    lost_in_doubt,     ///< nothing is written, outcome unknown
    written_in_doubt,  ///< all is written, outcome unknown
  };

  explicit FaultyStore(std::unique_ptr<Store> real) : real_(std::move(real)) {}

  Fault fault = Fault::none;
  bool reads_fail = false;    ///< of one run
  bool surveys_fail = false;  ///< of all runs
  /// Faults concern batches in which this is true of a write; the next one only, if `once`.
  std::function<bool(const Write&)> concerns = [](const Write&) { return true; };
  bool once = false;
  /// Called for each write before its batch is written.
  std::function<void(const Write&)> on_write = [](const Write&) {};
  std::size_t faults = 0;  ///< that have happened
  /// Asked at each call, reads too: the fault that this one has.
  std::function<Fault(bool is_write)> on_call = [](bool) { return Fault::none; };

  Result<std::vector<Result<Reply>>> write(const std::vector<Write>& batch) override {
    if (const Fault struck = on_call(true); struck != Fault::none) {
      return failed(struck, batch);
    }
    for (const Write& write : batch) {
      on_write(write);
    }
    const bool concerned = std::any_of(batch.begin(), batch.end(), concerns);
    const Fault now = concerned ? fault : Fault::none;
    if (now == Fault::none) {
      return real_->write(batch);
    }
    ++faults;
    if (once) {
      fault = Fault::none;
    }
    return failed(now, batch);
  }
  Result<RunRow> run(const RunId& run) override {
    return read<Result<RunRow>>([&] { return real_->run(run); });
  }
  Result<RunRow> latest_run(const std::string& pipeline) override {
    return read<Result<RunRow>>([&] { return real_->latest_run(pipeline); });
  }
  Result<std::vector<RunRow>> runs() override {
    return read<Result<std::vector<RunRow>>>([&] { return real_->runs(); });
  }
  Result<std::vector<LiveRun>> live_runs() override {
    return surveys_fail                    ? Result<std::vector<LiveRun>>{unavailable()}
           : on_call(false) != Fault::none ? Result<std::vector<LiveRun>>{unavailable()}
                                           : real_->live_runs();
  }
  Result<std::vector<StoredPass>> history(const RunId& run, Seq after) override {
    return read<Result<std::vector<StoredPass>>>([&] { return real_->history(run, after); });
  }
  Result<std::vector<RawPass>> raw_history(const RunId& run) override {
    return read<Result<std::vector<RawPass>>>([&] { return real_->raw_history(run); });
  }
  Result<std::string> definition(const DefinitionHash& hash) override {
    return read<Result<std::string>>([&] { return real_->definition(hash); });
  }
  Result<std::vector<InboxRow>> inbox(const RunId& run, std::size_t limit) override {
    return read<Result<std::vector<InboxRow>>>([&] { return real_->inbox(run, limit); });
  }
  Result<bool> knows_request(const RunId& run, const std::string& request_id) override {
    return real_->knows_request(run, request_id);
  }
  Result<std::vector<NodeOutput>> outputs(const RunId& run,
                                          const std::vector<NodeIndex>& nodes) override {
    return read<Result<std::vector<NodeOutput>>>([&] { return real_->outputs(run, nodes); });
  }
  Result<std::vector<Leftover>> leftovers(const RunId& run) override {
    return read<Result<std::vector<Leftover>>>([&] { return real_->leftovers(run); });
  }
  Result<std::vector<RunId>> runs_with_inbox() override {
    return read<Result<std::vector<RunId>>>([&] { return real_->runs_with_inbox(); });
  }
  Result<std::uint64_t> data_version() override {
    return on_call(false) == Fault::none ? real_->data_version()
                                         : Result<std::uint64_t>{unavailable()};
  }
  std::string store_id() const override { return real_->store_id(); }
  std::string lease_authority() const override { return real_->lease_authority(); }

  Store& real() { return *real_; }

 private:
  static tl::unexpected<Error> unavailable() {
    return fail(ErrorCode::store_unavailable, "reach the store: scripted fault");
  }
  template <class Answer, class Ask>
  Answer read(Ask ask) {
    const bool is_struck = on_call(false) != Fault::none;
    return reads_fail || is_struck ? Answer{unavailable()} : ask();
  }
  Result<std::vector<Result<Reply>>> failed(Fault now, const std::vector<Write>& batch) {
    if (now == Fault::unavailable) {
      return unavailable();
    }
    if (now == Fault::written_in_doubt) {
      (void)real_->write(batch);
    }
    return fail(ErrorCode::outcome_unknown, "write a batch: scripted fault at COMMIT");
  }

  std::unique_ptr<Store> real_;
};

class FaultyLeases final : public LeaseStore {
 public:
  explicit FaultyLeases(std::unique_ptr<LeaseStore> real) : real_(std::move(real)) {}

  bool offline = false;                 ///< every call fails
  bool grants_all = false;              ///< whoever asks gets, and keeps, whatever it asks for
  bool loses_all = false;               ///< every renewal finds the lease lost; it is given back
  std::vector<std::size_t> renewals{};  ///< leases in each call
  /// Called when leases have been granted, before that is known.
  std::function<void()> on_acquired = [] {};
  enum class Fault : std::uint8_t {
    none,
    refused,  ///< nothing is done
    deaf,     ///< done, and the answer is lost
    late,     ///< done, and the answer comes after on_late
  };
  /// Asked at each call: the fault that this one has.
  std::function<Fault()> on_call = [] { return Fault::none; };
  std::function<void()> on_late = [] {};

  using Verdicts = Result<std::vector<LeaseVerdict>>;

  Verdicts acquire(const std::vector<LeaseRequest>& requests, Duration ttl) override {
    auto verdicts = answer(requests, [&] { return real_->acquire(requests, ttl); });
    on_acquired();
    return verdicts;
  }
  Verdicts renew(const std::vector<LeaseRequest>& requests, Duration ttl) override {
    renewals.push_back(requests.size());
    if (loses_all) {
      (void)real_->release(requests);
      return std::vector<LeaseVerdict>(requests.size(), LeaseVerdict::lost);
    }
    return answer(requests, [&] { return real_->renew(requests, ttl); });
  }
  Verdicts release(const std::vector<LeaseRequest>& requests) override {
    return answer(requests, [&] { return real_->release(requests); });
  }
  Result<std::vector<ReplicaIdentity>> holders(const std::vector<RunId>& runs) override {
    return real_->holders(runs);
  }
  Result<std::uint64_t> draw_number() override { return real_->draw_number(); }

 private:
  template <class Ask>
  Verdicts answer(const std::vector<LeaseRequest>& requests, Ask ask) {
    const Fault struck = on_call();
    if (offline || struck == Fault::refused) {
      return fail(ErrorCode::lease_unavailable, "reach the lease store: scripted fault");
    }
    if (grants_all) {
      return std::vector<LeaseVerdict>(requests.size(), LeaseVerdict::granted);
    }
    Verdicts verdicts = ask();
    if (struck == Fault::late) {
      on_late();
    }
    if (struck == Fault::deaf) {
      return fail(ErrorCode::lease_unavailable, "reach the lease store: no answer, scripted fault");
    }
    return verdicts;
  }

  std::unique_ptr<LeaseStore> real_;
};

}  // namespace stagecall::testing
