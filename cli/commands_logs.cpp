// logs: what a command printed, once or as it comes.
#include "cli/commands.hpp"
#include "cli/follow.hpp"
#include "cli/run_json.hpp"
#include "executors/process_executor.hpp"
#include "persistence/store_paths.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace stagecall::cli {
namespace {

/// Finds the attempts of a command that are asked for: the one that is named, or all.
class AttemptSearch {
 public:
  AttemptSearch(Store& store, NodeIndex node, std::string id, std::optional<Attempt> wanted)
      : store_(store), node_(node), id_(std::move(id)), wanted_(wanted) {}

  /// Reads on in the run's history.
  Result<void> look(const RunRow& row) {
    return read_on(store_, row.run, seen_,
                   [&](const Pass&, const Event& event) { take(row.run, event); });
  }

  /// In order.
  const std::vector<AttemptKey>& found() const { return found_; }

  Error none(const RunId& run) const {
    return {ErrorCode::not_found,
            "node \"" + id_ + "\" of " + run.text() +
                (wanted_ ? " has no attempt " + std::to_string(wanted_->value)
                         : std::string{" has had no attempt yet"}) +
                (is_carried_ ? "; the run goes on from an earlier one, which has its logs" : "")};
  }

 private:
  void take(const RunId& run, const Event& event) {
    const auto* submitted = std::get_if<AttemptSubmitted>(&event);
    if (submitted != nullptr && submitted->node == node_ &&
        (!wanted_ || *wanted_ == submitted->attempt)) {
      found_.push_back({run, id_, submitted->attempt, submitted->nonce});
    }
    const auto* carried = std::get_if<NodeCarried>(&event);
    is_carried_ = is_carried_ || (carried != nullptr && carried->node == node_);
  }

  Store& store_;
  NodeIndex node_;
  std::string id_;
  std::optional<Attempt> wanted_;
  std::vector<AttemptKey> found_{};
  bool is_carried_ = false;
  Seq seen_{};
};

/// Of a node that has logs: a command.
Result<NodeIndex> find_command(Store& store, const RunRow& row, const std::string& node) {
  const auto definition = read_definition(store, row);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  const auto index = (*definition)->find(node);
  if (!index) {
    return fail(ErrorCode::not_found, "run " + row.run.text() + " has no node \"" + node + '"');
  }
  if (!std::holds_alternative<CommandAction>((*definition)->node(*index).action)) {
    return fail(ErrorCode::not_found,
                "node \"" + node + "\" of " + row.run.text() + " has no log: it is no command");
  }
  return *index;
}

/// A command that has printed nothing has left no file.
Result<CommandLog> read_log(const Session& session, const AttemptKey& key) {
  auto log = read_command_log(store_folder(session.options.store), key);
  return !log && log.error().code == ErrorCode::not_found ? CommandLog{} : std::move(log);
}

/// Writes the latest attempt's log, then those of the attempts that follow, each byte once.
class LogTeller {
 public:
  explicit LogTeller(const Session& session) : session_(session) {}

  /// `attempts` grows from call to call.
  Result<void> tell(const std::vector<AttemptKey>& attempts) {
    if (attempts.empty()) {
      return {};
    }
    if (!current_) {
      current_ = attempts.size() - 1;
    }
    auto done = tell(attempts[*current_]);
    while (done && *current_ + 1 < attempts.size()) {
      ++*current_;
      told_ = 0;
      session_.output.flush();
      session_.output.note("stagecall: attempt " +
                           std::to_string(attempts[*current_].attempt.value));
      done = tell(attempts[*current_]);
    }
    return done;
  }

 private:
  Result<void> tell(const AttemptKey& key) {
    return read_log(session_, key).map([this](const CommandLog& log) { write(log); });
  }

  void write(const CommandLog& log) {
    const std::uint64_t tail_begin = log.head.size() + log.bytes_left_out;
    write_from(log.head, 0);
    if (told_ < tail_begin) {
      session_.output.flush();
      session_.output.note("stagecall: " + std::to_string(tail_begin - told_) +
                           " bytes were left out here");
      told_ = tail_begin;
    }
    write_from(log.tail, tail_begin);
  }

  /// Of a part of the log that begins at `begin` what has not been told.
  void write_from(std::string_view part, std::uint64_t begin) {
    const std::uint64_t known =
        std::min<std::uint64_t>(told_ - std::min(told_, begin), part.size());
    session_.output.bytes(part.substr(known));
    told_ = std::max<std::uint64_t>(told_, begin + part.size());
  }

  const Session& session_;
  std::optional<std::size_t> current_{};
  std::uint64_t told_ = 0;  ///< bytes of the command's output, written or left out
};

Result<void> write_whole(const Session& session, const AttemptSearch& search, const RunId& run) {
  if (search.found().empty()) {
    return tl::unexpected<Error>{search.none(run)};
  }
  if (!session.output.is_json()) {
    return LogTeller{session}.tell(search.found());
  }
  const AttemptKey& latest = search.found().back();
  return read_log(session, latest).map([&](const CommandLog& log) {
    session.output.value(log_json(latest, log));
  });
}

/// As it comes; one JSON value is given once it is whole. An attempt may be yet to come.
Result<void> write_along(const Session& session, FoundRun& run, AttemptSearch& search) {
  LogTeller teller{session};
  auto followed = follow(session, *run.store, run.row, [&](const RunRow& row) {
    auto looked = search.look(row);
    return looked && !session.output.is_json() ? teller.tell(search.found()) : looked;
  });
  if (followed && session.output.is_json()) {
    return write_whole(session, search, run.row.run);
  }
  if (search.found().empty()) {
    session.output.note("stagecall: " + escaped(search.none(run.row.run).message));
  }
  return followed;
}

}  // namespace

Result<ExitCode> logs(const Session& session) {
  std::optional<Attempt> wanted;
  if (const std::string& text = session.arguments.attempt; !text.empty()) {
    const auto attempt = attempt_of(text);
    if (!attempt) {
      return tl::unexpected<Error>{attempt.error()};
    }
    wanted = *attempt;
  }
  auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  const std::string& id = session.arguments.node;
  const auto node = find_command(*found->store, found->row, id);
  if (!node) {
    return tl::unexpected<Error>{node.error()};
  }
  AttemptSearch search{*found->store, *node, id, wanted};
  auto written = search.look(found->row);
  if (written) {
    written = session.arguments.follow ? write_along(session, *found, search)
                                       : write_whole(session, search, found->row.run);
  }
  if (!written) {
    return tl::unexpected<Error>{std::move(written).error()};
  }
  return ExitCode::done;
}

}  // namespace stagecall::cli
