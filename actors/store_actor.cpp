#include "actors/store_actor.hpp"

#include "messages/limits.hpp"

#include <algorithm>
#include <utility>

namespace stagecall {

StoreActor::StoreActor(caf::actor_config& config, Store& store, CommitCallback on_commit)
    : Observed(config), store_(store), on_commit_(std::move(on_commit)) {}

StoreActor::behavior_type StoreActor::make_behavior() {
  return {
      [this](const Describe&) {
        return insight({{"commits", commits_}, {"writes", written_}});
      },
      [this](const WriteRequest& request) { return gather(request); },
      [this](const LoadRun& request) { return load(request.run); },
      [this](const LoadDefinition& request) {
        return DefinitionResponse{store_.definition(request.hash)};
      },
      [this](const ReadRow& request) {
        flush();  // who asks what became of a write that went unanswered: it may wait here
        return RowResponse{store_.run(request.run)};
      },
      [this](const ReadInbox& request) {
        return InboxResponse{store_.inbox(request.run, kLimits.inbox_read_max)};
      },
      [this](const SurveyRequest& request) { return survey(request.whole); },
      [this](const Flush&) { flush(); },
  };
}

/// What was gathered is still written, and answered: a promise refers to its actor, which could not
/// go before it.
void StoreActor::on_exit() {
  flush();
}

/// What is in the mailbox now comes before the Flush, and so into the same transaction.
StoreActor::Promise StoreActor::gather(const WriteRequest& request) {
  auto promise = make_response_promise<WriteResponse>();
  writes_.push_back(request.write);
  promises_.push_back(promise);
  if (writes_.size() == 1) {
    send(this, Flush{});
  } else if (writes_.size() >= kLimits.batch_writes_max) {
    flush();
  }
  return promise;
}

void StoreActor::flush() {
  if (writes_.empty()) {
    return;
  }
  const std::vector<Write> writes = std::exchange(writes_, {});
  std::vector<Promise> promises = std::exchange(promises_, {});
  const TraceTime started = is_traced() ? trace_now() : TraceTime{};
  const auto results = store_.write(writes);
  trace_commit(started, results);
  ++commits_;
  written_ += writes.size();
  if (results && on_commit_) {
    tell_of_passes(writes, *results);
  }
  for (std::size_t i = 0; i < promises.size(); ++i) {
    promises[i].deliver(
        WriteResponse{results ? (*results)[i] : Result<Reply>{tl::unexpect, results.error()}});
  }
}

void StoreActor::trace_commit(TraceTime started,
                              const Result<std::vector<Result<Reply>>>& results) {
  if (!is_traced() || started == TraceTime{}) {
    return;
  }
  TracedCommit commit{.actor = number(),
                      .started = started,
                      .ended = trace_now(),
                      .is_committed = results.has_value()};
  if (results) {
    commit.writes = results->size();
    commit.refused = static_cast<std::size_t>(std::count_if(
        results->begin(), results->end(), [](const auto& result) { return !result; }));
  }
  tracer()->tell(commit);
}

void StoreActor::tell_of_passes(const std::vector<Write>& writes,
                                const std::vector<Result<Reply>>& results) {
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (!results[i]) {
      continue;
    }
    if (const auto* append = std::get_if<AppendPass>(&writes[i])) {
      on_commit_(append->run);
    } else if (const auto* started = std::get_if<RunStartedReply>(&*results[i])) {
      on_commit_(started->row.run);
    }
  }
}

LoadRunResponse StoreActor::load(const RunId& run) {
  auto row = store_.run(run);
  if (!row) {
    return {tl::unexpected<Error>{row.error()}};
  }
  auto history = store_.history(run, Seq{0});
  if (!history) {
    return {tl::unexpected<Error>{history.error()}};
  }
  auto definition = store_.definition(row->definition);
  if (!definition) {
    return {tl::unexpected<Error>{definition.error()}};
  }
  return {LoadedRun{*std::move(row), *std::move(history), *std::move(definition)}};
}

SurveyResponse StoreActor::survey(bool whole) {
  const auto version = store_.data_version();
  if (!version) {
    return {tl::unexpected<Error>{version.error()}};
  }
  Survey survey{.read = whole || *version != data_version_, .live = {}, .with_inbox = {}};
  if (survey.read) {
    auto live = store_.live_runs();
    auto with_inbox = store_.runs_with_inbox();
    if (!live || !with_inbox) {
      return {tl::unexpected<Error>{live ? with_inbox.error() : live.error()}};
    }
    survey.live = *std::move(live);
    survey.with_inbox = *std::move(with_inbox);
    data_version_ = *version;
  }
  return {std::move(survey)};
}

}  // namespace stagecall
