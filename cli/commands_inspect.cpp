// inspect: the live actors of the processes on a store, as each of them tells.
#include "cli/commands.hpp"
#include "cli/signals.hpp"
#include "persistence/control_socket.hpp"
#include "persistence/store_paths.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace stagecall::cli {
namespace {

constexpr Duration kRefresh{1'000};
constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

const Row kHead{"ACTOR", "RUN", "STATE", "TERM", "MAILBOX", "HANDLED", "TICK IN", "LEASE", "LAST"};

/// Another process's words: looked at with care.
std::string text_of(const Json& actor, const char* member) {
  const auto found = actor.find(member);
  if (found == actor.end() || found->is_null()) {
    return "";
  }
  return found->is_string() ? escaped(found->get<std::string>()) : found->dump();
}

std::string seconds_of(const Json& actor, const char* member) {
  const auto found = actor.find(member);
  return found != actor.end() && found->is_number() ? seconds_text(found->get<double>() / 1000)
                                                    : "";
}

bool is_true(const Json& actor, const char* member) {
  const auto found = actor.find(member);
  return found != actor.end() && found->is_boolean() && found->get<bool>();
}

Row row_of(const Json& actor) {
  const bool is_busy = is_true(actor, "busy");
  return {text_of(actor, "kind"),
          text_of(actor, "run"),
          is_busy                    ? "busy"
          : is_true(actor, "parked") ? "parked"
                                     : text_of(actor, "state"),
          text_of(actor, "term"),
          text_of(actor, "mailbox"),
          text_of(actor, "handled"),
          seconds_of(actor, "next_tick_ms"),
          seconds_of(actor, "lease_left_ms"),
          text_of(actor, "last_message")};
}

void write_rows(Output& output, const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      line += "  " + row[i] + std::string(widths[i] - row[i].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    output.line(line);
  }
}

void write_replica(Output& output, const Json& replica) {
  const std::string trace = text_of(replica, "trace");
  output.line(text_of(replica, "replica") + " (pid " + text_of(replica, "pid") + "): " +
              text_of(replica, "runs") + " runs" + (trace.empty() ? "" : ", traced to " + trace));
  std::vector<Row> rows{kHead};
  for (const Json& actor : replica["actors"]) {
    rows.push_back(row_of(actor));
  }
  write_rows(output, rows);
}

Json ask_replicas(const Session& session) {
  Json replicas = Json::array();
  for (const std::string& answer : ask_control_servers(
           store_folder(session.options.store), "inspect", kLimits.control_wait, session.clock)) {
    Json replica = Json::parse(answer, nullptr, false);
    if (replica.is_object() && replica.contains("replica") && replica["actors"].is_array()) {
      replicas.push_back(std::move(replica));
    }
  }
  return replicas;
}

void show(const Session& session, const Json& replicas) {
  if (session.output.is_json()) {
    session.output.value(Json{{"replicas", replicas}});
    return;
  }
  if (replicas.empty()) {
    session.output.line("no process works on " + escaped(session.options.store));
  }
  for (const Json& replica : replicas) {
    write_replica(session.output, replica);
  }
}

}  // namespace

Result<ExitCode> inspect(const Session& session) {
  // A store that is not there is an error, not one without processes.
  if (const auto store = open_store(session); !store) {
    return tl::unexpected<Error>{store.error()};
  }
  if (!session.arguments.follow) {
    show(session, ask_replicas(session));
    return ExitCode::done;
  }
  watch_signals();
  while (!is_interrupted()) {
    const Json replicas = ask_replicas(session);
    session.output.clear_screen();
    show(session, replicas);
    if (!session.output.flush()) {
      break;
    }
    wait_for_signal(kRefresh);
  }
  return ExitCode::done;
}

}  // namespace stagecall::cli
