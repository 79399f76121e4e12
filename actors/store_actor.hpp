// The only writer of this process: puts the writes of many runs into one transaction. Blocks in the
// store, so it is spawned detached outside tests.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/observed.hpp"
#include "persistence/store.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace stagecall {

/// Told, on the store actor's thread, of each run whose history has grown. Must not block.
using CommitCallback = std::function<void(const RunId&)>;

class StoreActor : public Observed<StoreHandle::base> {
 public:
  /// The store outlives the actor and is used by it alone.
  StoreActor(caf::actor_config& config, Store& store, CommitCallback on_commit);

  const char* name() const override { return "store"; }
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  using Promise = caf::typed_response_promise<WriteResponse>;

  Promise gather(const WriteRequest& request);
  void flush();
  void trace_commit(TraceTime started, const Result<std::vector<Result<Reply>>>& results);
  void tell_of_passes(const std::vector<Write>& writes, const std::vector<Result<Reply>>& results);
  LoadRunResponse load(const RunId& run);
  SurveyResponse survey(bool whole);

  Store& store_;
  CommitCallback on_commit_;  // none: nobody wants to know
  std::vector<Write> writes_;
  std::vector<Promise> promises_;
  std::uint64_t commits_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t data_version_ = 0;
};

}  // namespace stagecall
