#include "persistence/store_writes.hpp"

#include "persistence/codec.hpp"

#include <optional>
#include <utility>

namespace stagecall {
namespace {

tl::unexpected<Error> no_such_run(const StoreTables& tables, const RunId& run) {
  return fail(ErrorCode::not_found, tables.name() + " has no run " + run.text());
}

Result<RunHead> read_head(StoreTables& tables, const RunId& run) {
  auto head = tables.find_head(run);
  if (!head) {
    return tl::unexpected<Error>{std::move(head).error()};
  }
  if (!*head) {
    return no_such_run(tables, run);
  }
  return *std::move(*head);
}

/// Appends the events, if any, behind the head and moves it; writes the summary.
Result<void> append(StoreTables& tables, RunHead& head, WallTime at,
                    const std::vector<Event>& events, const RunSummary& summary) {
  if (!events.empty()) {
    RawPass pass{.seq = Seq{head.last_seq.value + 1},
                 .term = head.term,
                 .at = at,
                 .events = encode_events(events)};
    pass.checksum =
        checksum_of(head.last_checksum, Pass{pass.seq, pass.term, pass.at, {}}, pass.events);
    if (auto done = tables.insert_pass(head.key, pass); !done) {
      return done;
    }
    head.last_seq = pass.seq;
    head.last_checksum = pass.checksum;
  }
  return tables.set_head(head, summary);
}

// ---- StartRun ----

/// The run that this start means without making one.
Result<std::optional<RunId>> find_started(StoreTables& tables, const StartRun& write) {
  if (!write.request_id.empty()) {
    auto known = tables.find_start_request(write.request_id);
    if (!known || *known) {
      return known;
    }
  }
  const auto live = tables.count_live(write.pipeline);
  if (!live) {
    return tl::unexpected<Error>{live.error()};
  }
  return live->runs > 0 && live->runs >= write.concurrent_runs
             ? std::optional{RunId{write.pipeline, live->newest}}
             : std::nullopt;
}

Result<void> remember_start_request(StoreTables& tables, const StartRun& write, RunKey run) {
  return write.request_id.empty() ? Result<void>{}
                                  : tables.put_start_request(write.request_id, run);
}

Result<Reply> join_started(StoreTables& tables, const StartRun& write, const RunId& run,
                           const DefinitionHash& definition) {
  auto row = read_run(tables, run);
  const auto head = read_head(tables, run);
  if (!row || !head) {
    return tl::unexpected<Error>{row ? head.error() : row.error()};
  }
  // Bound to another definition the id would refuse this start for ever.
  if (row->definition == definition) {
    if (auto done = remember_start_request(tables, write, head->key); !done) {
      return tl::unexpected<Error>{std::move(done).error()};
    }
  }
  return RunStartedReply{std::move(*row), false};
}

/// Its row without history.
Result<RunHead> insert_run(StoreTables& tables, const StartRun& write, const RunRow& row) {
  auto done = tables.put_definition(row.definition, write.definition);
  const auto key = done ? tables.insert_run(row) : tl::unexpected<Error>{done.error()};
  if (!key) {
    return tl::unexpected<Error>{key.error()};
  }
  return RunHead{.key = *key, .term = row.term};
}

Result<void> carry_outputs(StoreTables& tables, const StartRun& write, RunKey into) {
  if (!write.carried_from) {
    return {};
  }
  const auto from = read_head(tables, *write.carried_from);
  if (!from) {
    return tl::unexpected<Error>{from.error()};
  }
  for (const NodeIndex node : write.carried) {
    if (auto done = tables.copy_output(from->key, into, node); !done) {
      return done;
    }
  }
  return {};
}

Result<Reply> apply(StoreTables& tables, const StartRun& write) {
  const DefinitionHash definition = content_hash(write.definition);
  const auto started = find_started(tables, write);
  if (!started) {
    return tl::unexpected<Error>{started.error()};
  }
  if (*started) {
    return join_started(tables, write, **started, definition);
  }
  const auto iteration = tables.take_iteration(write.pipeline);
  if (!iteration) {
    return tl::unexpected<Error>{iteration.error()};
  }
  RunRow row{.run = {write.pipeline, *iteration},
             .definition = definition,
             .owner = write.holder ? write.holder->incarnation : std::string{},
             .term = Term{write.holder ? 1U : 0U},
             .last_seq = Seq{},
             .created_at = write.at,
             .summary = write.summary};
  auto head = insert_run(tables, write, row);
  if (!head) {
    return tl::unexpected<Error>{std::move(head).error()};
  }
  auto done = append(tables, *head, write.at, write.events, write.summary);
  if (done) {
    done = remember_start_request(tables, write, head->key);
  }
  if (done) {
    done = carry_outputs(tables, write, head->key);
  }
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  row.last_seq = head->last_seq;
  row.last_checksum = head->last_checksum;
  return RunStartedReply{std::move(row), true};
}

// ---- OpenTerm ----

Result<Reply> apply(StoreTables& tables, const OpenTerm& write) {
  const auto head = read_head(tables, write.run);
  if (!head) {
    return tl::unexpected<Error>{head.error()};
  }
  if (head->term != write.expected) {
    return fail(ErrorCode::history_moved, "cannot open a term of run " + write.run.text() +
                                              ": expected term " +
                                              std::to_string(write.expected.value) + ", it is " +
                                              std::to_string(head->term.value));
  }
  const Term opened{write.expected.value + 1};
  if (auto done = tables.set_holder(head->key, opened, write.holder.incarnation); !done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return TermReply{opened};
}

// ---- AppendPass ----

Result<void> check_fence(const AppendPass& write, const RunHead& head) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, "cannot append to run " + write.run.text() + " with term " +
                          std::to_string(write.term.value) + ": " + why);
  };
  if (write.term < head.term || head.term == Term{}) {
    return refuse(ErrorCode::fenced, "its term is " + std::to_string(head.term.value));
  }
  if (write.term > head.term) {
    return refuse(ErrorCode::internal,
                  "its term is " + std::to_string(head.term.value) + ", that one never began");
  }
  if (write.previous != head.last_seq) {
    return refuse(ErrorCode::history_moved, "its history ends at " +
                                                std::to_string(head.last_seq.value) + ", not at " +
                                                std::to_string(write.previous.value));
  }
  return {};
}

Result<void> keep_outputs(StoreTables& tables, const AppendPass& write, RunKey run) {
  for (const NodeOutput& output : write.outputs) {
    if (auto done = tables.put_output(run, output); !done) {
      return done;
    }
  }
  return {};
}

Result<void> keep_leftovers(StoreTables& tables, const AppendPass& write, RunKey run) {
  for (const Leftover& leftover : write.leftovers) {
    if (auto done = tables.put_leftover(run, leftover); !done) {
      return done;
    }
  }
  for (const AttemptMark& confirmed : write.confirmed) {
    if (auto done = tables.delete_leftover(run, confirmed.nonce); !done) {
      return done;
    }
  }
  return {};
}

Result<void> consume_inbox(StoreTables& tables, const AppendPass& write, RunKey run) {
  if (is_terminal(write.summary.state)) {
    return tables.delete_whole_inbox(run);
  }
  for (const std::int64_t id : write.consumed) {
    if (auto done = tables.delete_inbox(run, id); !done) {
      return done;
    }
  }
  return {};
}

Result<Reply> apply(StoreTables& tables, const AppendPass& write) {
  auto head = read_head(tables, write.run);
  if (!head) {
    return tl::unexpected<Error>{std::move(head).error()};
  }
  auto done = check_fence(write, *head);
  if (done) {
    done = append(tables, *head, write.at, write.events, write.summary);
  }
  if (done) {
    done = keep_outputs(tables, write, head->key);
  }
  if (done) {
    done = keep_leftovers(tables, write, head->key);
  }
  if (done) {
    done = consume_inbox(tables, write, head->key);
  }
  if (!done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return AppendReply{head->last_seq};
}

// ---- NoteParked ----

Result<Reply> apply(StoreTables& tables, const NoteParked& write) {
  const auto head = read_head(tables, write.run);
  if (!head) {
    return tl::unexpected<Error>{head.error()};
  }
  if (head->term != write.term) {
    return fail(ErrorCode::fenced, "cannot note that run " + write.run.text() +
                                       " is parked in term " + std::to_string(write.term.value) +
                                       ": its term is " + std::to_string(head->term.value));
  }
  if (auto done = tables.set_parked(head->key, write.reason); !done) {
    return tl::unexpected<Error>{std::move(done).error()};
  }
  return NotedReply{};
}

// ---- PutInbox ----

/// What a message is about, where a second one that waits beside it could change nothing.
std::optional<std::string> subject_of(const InboxMessage& message) {
  if (std::holds_alternative<StopInput>(message)) {
    return "stop";
  }
  if (const auto* done = std::get_if<NodeDoneInput>(&message)) {
    return "node " + done->node;
  }
  return std::nullopt;
}

Result<InboxFate> put(StoreTables& tables, const RunHead& head, const PutInbox& write) {
  if (is_terminal(head.state)) {
    const auto* report = std::get_if<ReportInput>(&write.message);
    const auto done = report != nullptr && confirms_end(report->news)
                          ? tables.delete_leftover(head.key, report->nonce)
                          : Result<void>{};
    return done.map([] { return InboxFate::ended; });
  }
  if (!write.request_id.empty()) {
    const auto known = tables.knows_inbox_request(head.key, write.request_id);
    if (!known) {
      return tl::unexpected<Error>{known.error()};
    }
    if (*known) {
      return InboxFate::known_request;
    }
  }
  if (head.state == RunState::stopping && std::holds_alternative<StopInput>(write.message)) {
    return InboxFate::waiting;
  }
  const auto inserted = tables.insert_inbox(
      head.key, {write.at, subject_of(write.message), encode_message(write.message)});
  if (!inserted) {
    return tl::unexpected<Error>{inserted.error()};
  }
  if (!*inserted) {
    return InboxFate::waiting;
  }
  if (!write.request_id.empty()) {
    if (auto noted = tables.put_inbox_request(head.key, write.request_id); !noted) {
      return tl::unexpected<Error>{std::move(noted).error()};
    }
  }
  return InboxFate::stored;
}

Result<Reply> apply(StoreTables& tables, const PutInbox& write) {
  auto head = read_head(tables, write.run);
  if (!head) {
    return tl::unexpected<Error>{std::move(head).error()};
  }
  const auto fate = put(tables, *head, write);
  if (!fate) {
    return tl::unexpected<Error>{fate.error()};
  }
  return InboxReply{head->state, *fate, std::move(head->owner)};
}

// ---- PruneRuns ----

Result<void> remove(StoreTables& tables, const EndedRun& ended, PruneReply& removed) {
  const auto events = tables.count_events(ended.key);
  if (!events) {
    return tl::unexpected<Error>{events.error()};
  }
  auto done = tables.delete_run(ended.key);
  if (done) {
    done = tables.delete_unused_definition(ended.definition);
  }
  removed.runs.push_back(ended.run);
  removed.events += *events;
  return done;
}

Result<Reply> apply(StoreTables& tables, const PruneRuns& write) {
  const auto ended = tables.find_ended(write.ended_before, write.runs_max);
  if (!ended) {
    return tl::unexpected<Error>{ended.error()};
  }
  PruneReply removed;
  for (const EndedRun& run : *ended) {
    if (auto done = remove(tables, run, removed); !done) {
      return tl::unexpected<Error>{std::move(done).error()};
    }
  }
  return removed;
}

}  // namespace

Result<Reply> apply_write(StoreTables& tables, const Write& write) {
  return std::visit([&tables](const auto& kind) { return apply(tables, kind); }, write);
}

Result<RunRow> read_run(StoreTables& tables, const RunId& run) {
  auto row = tables.find_run(run);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  if (!*row) {
    return no_such_run(tables, run);
  }
  return *std::move(*row);
}

}  // namespace stagecall
