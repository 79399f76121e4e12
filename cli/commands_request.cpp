// stop and node-done: requests to whoever schedules a run. They need no lease.
#include "actors/run_reader.hpp"
#include "cli/commands.hpp"
#include "core/admission.hpp"
#include "formats/output_text.hpp"
#include "persistence/nudge.hpp"
#include "persistence/store_paths.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <utility>
#include <variant>

namespace stagecall::cli {
namespace {

/// Durable when it returns; the run's holder is told. False: it changes nothing, so it was not
/// stored.
Result<bool> put(const Session& session, Store& store, const RunId& run, InboxMessage message) {
  const auto reply = write_one(store, PutInbox{.run = run,
                                               .request_id = session.options.request_id,
                                               .message = std::move(message),
                                               .at = session.clock.wall()});
  if (!reply) {
    return tl::unexpected<Error>{reply.error()};
  }
  const auto& answer = std::get<InboxReply>(*reply);
  if (answer.is_stored()) {
    send_nudge(store_folder(session.options.store), answer.owner, run.text());
  }
  return answer.is_stored();
}

/// The run as it stands after a request.
Result<ExitCode> answer(const Session& session, Store& store, const RunId& run, bool changed) {
  const auto row = store.run(run);
  if (!row) {
    return tl::unexpected<Error>{row.error()};
  }
  show_run(session, store, *row, {{"changed", changed}});
  return ExitCode::done;
}

Result<Outcome> outcome_of(const std::string& text) {
  if (text == "succeeded") {
    return Outcome{};
  }
  if (text == "failed") {
    return Outcome{.kind = OutcomeKind::failed, .error = "reported failed"};
  }
  return fail(ErrorCode::invalid_argument,
              "--outcome: \"" + text + "\" is not allowed; give succeeded or failed");
}

/// The command's own arguments, checked before the store is opened.
Result<NodeDoneInput> node_done_input(const Arguments& arguments) {
  NodeDoneInput input{.node = arguments.node, .outcome = {}};
  auto outcome = outcome_of(arguments.outcome);
  if (!outcome) {
    return tl::unexpected<Error>{std::move(outcome).error()};
  }
  input.outcome = *std::move(outcome);
  if (!arguments.attempt.empty()) {
    auto attempt = attempt_of(arguments.attempt);
    if (!attempt) {
      return tl::unexpected<Error>{std::move(attempt).error()};
    }
    input.attempt = *attempt;
  }
  if (arguments.output) {
    if (auto checked = check_output(*arguments.output); !checked) {
      return fail(checked.error().code, "--output: " + checked.error().message);
    }
    input.output = *arguments.output;
  }
  if (arguments.force != arguments.reason.has_value() ||
      (arguments.reason && arguments.reason->empty())) {
    return fail(ErrorCode::invalid_argument,
                "--force and --reason TEXT are given together, the text not empty");
  }
  input.force_reason = arguments.reason;
  return input;
}

}  // namespace

Result<Attempt> attempt_of(const std::string& text) {
  Attempt attempt;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), attempt.value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || attempt.value == 0) {
    return fail(ErrorCode::invalid_argument,
                "--attempt: \"" + text + "\" is not allowed; give a whole number from 1 on");
  }
  return attempt;
}

Result<ExitCode> stop(const Session& session) {
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  const auto& [store, row] = *found;
  const auto changed = put(session, *store, row.run, StopInput{"stop"});
  if (!changed) {
    return tl::unexpected<Error>{changed.error()};
  }
  return answer(session, *store, row.run, *changed);
}

Result<ExitCode> node_done(const Session& session) {
  auto input = node_done_input(session.arguments);
  if (!input) {
    return tl::unexpected<Error>{std::move(input).error()};
  }
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  const auto& [store, row] = *found;
  const auto state = fold_run(*store, row);
  const std::string& request_id = session.options.request_id;
  const auto is_repeat =
      request_id.empty() ? Result<bool>{false} : store->knows_request(row.run, request_id);
  if (!state || !is_repeat) {
    return tl::unexpected<Error>{state ? is_repeat.error() : state.error()};
  }
  const auto admitted = admit_node_done(*state, *input, *is_repeat);
  if (!admitted) {
    return fail(admitted.error().code,
                "node-done " + row.run.text() + ": " + admitted.error().message);
  }
  if (!*admitted) {
    return answer(session, *store, row.run, false);
  }
  // Of this attempt and no later one, however long the report waits.
  if (**admitted > Attempt{}) {
    input->attempt = **admitted;
  }
  const auto stored = put(session, *store, row.run, *std::move(input));
  if (!stored) {
    return tl::unexpected<Error>{stored.error()};
  }
  return answer(session, *store, row.run, *stored);
}

}  // namespace stagecall::cli
