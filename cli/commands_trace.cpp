// trace start|stop: switches the trace of a live process on a store.
#include "actors/run_reader.hpp"
#include "cli/commands.hpp"
#include "core/refusal.hpp"
#include "persistence/control_socket.hpp"
#include "persistence/store_paths.hpp"
#include "persistence/trace_question.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecall::cli {
namespace {

using Answers = std::vector<TraceAnswer>;

constexpr std::array<std::string_view, 6> kKinds{"pipeline",   "store",        "custodian",
                                                 "supervisor", "lock_manager", "slot_broker"};

Answers ask(const Session& session, const TraceQuestion& question) {
  Answers answers;
  // A process may wait for the last words of the trace that it ends.
  const Duration wait = kLimits.control_wait + kLimits.trace_end;
  for (const std::string& line : ask_control_servers(store_folder(session.options.store),
                                                     line_of(question), wait, session.clock)) {
    if (auto answer = read_trace_answer(line)) {
      answers.push_back(*std::move(answer));
    }
  }
  return answers;
}

std::string names_of(const Answers& processes) {
  std::string names;
  for (const TraceAnswer& process : processes) {
    names += (names.empty() ? "" : ", ") + escaped(process.replica);
  }
  return names;
}

/// Those on the store, or the one that --replica names: at least one.
Result<Answers> live_processes(const Session& session) {
  Answers all = ask(session, {});
  const std::string store = escaped(session.options.store);
  if (all.empty()) {
    return fail(ErrorCode::not_found,
                "trace: no process works on " + store + "; start one with `stagecall serve`");
  }
  const std::string& wanted = session.options.replica;
  if (wanted.empty()) {
    return all;
  }
  const std::string names = names_of(all);
  std::erase_if(all, [&](const TraceAnswer& one) { return one.replica != wanted; });
  if (all.empty()) {
    return fail(ErrorCode::not_found, "trace: no process on " + store + " is replica " +
                                          stagecall::quoted(wanted) + "; there are: " + names);
  }
  return all;
}

Json json_of(const TraceAnswer& answer) {
  return {{"replica", answer.replica}, {"pid", answer.pid}, {"trace", answer.place}};
}

std::string name_of(const TraceAnswer& answer) {
  return "replica " + escaped(answer.replica) + " (pid " + std::to_string(answer.pid) + ")";
}

/// What the command line says of the trace; its runs are looked up in the store.
Result<TraceQuestion> question_of(const Session& session, Store& store) {
  const Arguments& arguments = session.arguments;
  if (arguments.file.empty()) {
    return fail(ErrorCode::invalid_argument, "trace start: FILE is missing: where to?");
  }
  std::error_code failed;
  TraceQuestion question{.wish = TraceWish::start,
                         .file = std::filesystem::absolute(arguments.file, failed),
                         .kinds = arguments.kinds};
  if (failed) {
    return fail(ErrorCode::invalid_argument,
                "trace start: " + escaped(arguments.file) + ": " + failed.message());
  }
  for (const std::string& kind : arguments.kinds) {
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      return fail(ErrorCode::invalid_argument,
                  "--kind: " + stagecall::quoted(kind) +
                      " is no kind of actor; give pipeline, store, custodian, supervisor, "
                      "lock_manager or slot_broker");
    }
  }
  for (const std::string& text : arguments.runs) {
    const auto row = find_run(store, text);
    if (!row) {
      return tl::unexpected<Error>{row.error()};
    }
    question.runs.push_back(row->run.text());
  }
  return question;
}

Result<ExitCode> start_trace(const Session& session, Store& store) {
  auto question = question_of(session, store);
  if (!question) {
    return tl::unexpected<Error>{std::move(question).error()};
  }
  const auto live = live_processes(session);
  if (!live) {
    return tl::unexpected<Error>{live.error()};
  }
  if (live->size() > 1) {
    return fail(ErrorCode::invalid_argument,
                "trace start: several processes work on " + escaped(session.options.store) + ": " +
                    names_of(*live) + "; say which with --replica NAME");
  }
  question->incarnation = live->front().incarnation;
  const Answers answers = ask(session, *question);
  if (answers.empty()) {
    return fail(ErrorCode::executor_unavailable,
                "trace start: " + name_of(live->front()) + " does not answer; ask again");
  }
  const TraceAnswer& answer = answers.front();
  if (!answer.refusal.empty()) {
    return fail(ErrorCode::invalid_argument,
                "trace start: " + name_of(answer) + ": " + answer.refusal);
  }
  if (session.output.is_json()) {
    session.output.value(json_of(answer));
  } else {
    session.output.line(name_of(answer) + " writes a trace to " + escaped(answer.place));
    session.output.note("it ends with: stagecall trace stop");
  }
  return ExitCode::done;
}

Result<ExitCode> stop_traces(const Session& session) {
  if (!session.arguments.file.empty()) {
    return fail(ErrorCode::invalid_argument, "trace stop takes no FILE");
  }
  const auto live = live_processes(session);
  if (!live) {
    return tl::unexpected<Error>{live.error()};
  }
  Answers stopped;
  for (const TraceAnswer& process : *live) {
    if (process.place.empty()) {
      continue;
    }
    const Answers answers =
        ask(session, {.wish = TraceWish::stop, .incarnation = process.incarnation});
    if (answers.empty()) {
      return fail(ErrorCode::executor_unavailable,
                  "trace stop: " + name_of(process) + " does not answer; ask again");
    }
    if (!answers.front().place.empty()) {
      stopped.push_back(answers.front());
    }
  }
  if (session.output.is_json()) {
    Json list = Json::array();
    for (const TraceAnswer& answer : stopped) {
      list.push_back(json_of(answer));
    }
    session.output.value(Json{{"stopped", std::move(list)}});
    return ExitCode::done;
  }
  for (const TraceAnswer& answer : stopped) {
    session.output.line(name_of(answer) + " has ended its trace in " + escaped(answer.place));
  }
  if (stopped.empty()) {
    session.output.line("nothing to end: no trace is written by " + names_of(*live));
  }
  return ExitCode::done;
}

}  // namespace

Result<ExitCode> trace(const Session& session) {
  const std::string& action = session.arguments.action;
  if (action != "start" && action != "stop") {
    return fail(ErrorCode::invalid_argument,
                "trace: " + stagecall::quoted(action) + " is no action; give start FILE, or stop");
  }
  // A store that is not there is an error, not one without processes.
  const auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  return action == "start" ? start_trace(session, **store) : stop_traces(session);
}

}  // namespace stagecall::cli
