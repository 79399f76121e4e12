// The shipped store in memory behind a connection that fails: refuses, is full, is slow, leaves the
// outcome of a commit unknown. What it has said to be committed is committed.
#pragma once

#include "persistence/store.hpp"
#include "tests/sim/checker.hpp"
#include "tests/sim/universe.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::sim {

/// One replica's connection.
class SimStore final : public Store {
 public:
  SimStore(Universe& universe, Checker& checker, std::unique_ptr<Store> real, std::string replica,
           const bool& is_alive)
      : universe_(universe),
        checker_(checker),
        real_(std::move(real)),
        replica_(std::move(replica)),
        is_alive_(is_alive) {}

  void cut_off(Duration wait) { cut_until_ = universe_.now + wait; }

  Result<std::vector<Result<Reply>>> write(const std::vector<Write>& batch) override;
  Result<RunRow> run(const RunId& run) override;
  Result<RunRow> latest_run(const std::string& pipeline) override;
  Result<std::vector<RunRow>> runs() override;
  Result<std::vector<LiveRun>> live_runs() override;
  Result<std::vector<StoredPass>> history(const RunId& run, Seq after) override;
  Result<std::vector<RawPass>> raw_history(const RunId& run) override;
  Result<std::string> definition(const DefinitionHash& hash) override;
  Result<std::vector<InboxRow>> inbox(const RunId& run, std::size_t limit) override;
  Result<bool> knows_request(const RunId& run, const std::string& request_id) override;
  Result<std::vector<NodeOutput>> outputs(const RunId& run,
                                          const std::vector<NodeIndex>& nodes) override;
  Result<std::vector<RunId>> runs_with_inbox() override;
  Result<std::vector<Leftover>> leftovers(const RunId& run) override {
    return real_->leftovers(run);
  }
  Result<std::uint64_t> data_version() override;
  std::string store_id() const override { return real_->store_id(); }
  std::string lease_authority() const override { return real_->lease_authority(); }

 private:
  bool is_reached() const { return is_alive_ && universe_.now >= cut_until_; }
  template <class Ask>
  auto read(Ask ask) -> decltype(ask());
  Result<std::vector<Result<Reply>>> commit(const std::vector<Write>& batch);

  Universe& universe_;
  Checker& checker_;
  std::unique_ptr<Store> real_;
  std::string replica_;
  const bool& is_alive_;
  BootTime cut_until_{};
};

}  // namespace stagecall::sim
