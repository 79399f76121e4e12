#include "tests/sim/sim_store.hpp"

namespace stagecall::sim {
namespace {

tl::unexpected<Error> unavailable(const char* why) {
  return fail(ErrorCode::store_unavailable, std::string{"reach the store: simulated: "} + why);
}

}  // namespace

Result<std::vector<Result<Reply>>> SimStore::write(const std::vector<Write>& batch) {
  if (!is_reached() || universe_.strikes("store.refuse")) {
    return unavailable("not reached");
  }
  if (universe_.strikes("store.full")) {
    return unavailable("no space left on device");
  }
  if (universe_.strikes("store.slow")) {
    universe_.spend(universe_.dice.between(Duration{1}, Duration{3'000}));
  }
  if (universe_.strikes("store.doubt_lost")) {
    return fail(ErrorCode::outcome_unknown, "write a batch: simulated fault at COMMIT");
  }
  auto replies = commit(batch);
  if (universe_.strikes("store.doubt_written")) {
    return fail(ErrorCode::outcome_unknown, "write a batch: simulated fault at COMMIT");
  }
  return replies;
}

Result<std::vector<Result<Reply>>> SimStore::commit(const std::vector<Write>& batch) {
  checker_.before_commit(batch);
  auto replies = real_->write(batch);
  for (std::size_t i = 0; replies && i < batch.size(); ++i) {
    const Result<Reply>& reply = (*replies)[i];
    universe_.note("write " + replica_ + " " + std::to_string(batch[i].index()) + " " +
                   (reply ? "ok" : std::string{name_of(reply.error().code)}));
    checker_.committed(batch[i], reply);
  }
  return replies;
}

template <class Ask>
auto SimStore::read(Ask ask) -> decltype(ask()) {
  if (!is_reached() || universe_.strikes("store.read_fails")) {
    return unavailable("not read");
  }
  return ask();
}

Result<RunRow> SimStore::run(const RunId& run) {
  return read([&] { return real_->run(run); });
}
Result<RunRow> SimStore::latest_run(const std::string& pipeline) {
  return read([&] { return real_->latest_run(pipeline); });
}
Result<std::vector<RunRow>> SimStore::runs() {
  return read([&] { return real_->runs(); });
}
Result<std::vector<LiveRun>> SimStore::live_runs() {
  return read([&] { return real_->live_runs(); });
}
Result<std::vector<StoredPass>> SimStore::history(const RunId& run, Seq after) {
  return read([&] { return real_->history(run, after); });
}
Result<std::vector<RawPass>> SimStore::raw_history(const RunId& run) {
  return read([&] { return real_->raw_history(run); });
}
Result<std::string> SimStore::definition(const DefinitionHash& hash) {
  return read([&] { return real_->definition(hash); });
}
Result<std::vector<InboxRow>> SimStore::inbox(const RunId& run, std::size_t limit) {
  return read([&] { return real_->inbox(run, limit); });
}
Result<bool> SimStore::knows_request(const RunId& run, const std::string& request_id) {
  return read([&] { return real_->knows_request(run, request_id); });
}
Result<std::vector<NodeOutput>> SimStore::outputs(const RunId& run,
                                                  const std::vector<NodeIndex>& nodes) {
  return read([&] { return real_->outputs(run, nodes); });
}
Result<std::vector<RunId>> SimStore::runs_with_inbox() {
  return read([&] { return real_->runs_with_inbox(); });
}
Result<std::uint64_t> SimStore::data_version() {
  return read([&] { return real_->data_version(); });
}

}  // namespace stagecall::sim
