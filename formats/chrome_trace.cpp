#include "formats/chrome_trace.hpp"

#include "core/utf8.hpp"
#include "formats/json_text.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <variant>

namespace stagecall {
namespace {

/// What is not UTF-8, as a command may have printed it, becomes `?`.
std::string quoted_text(std::string_view text) {
  std::string valid{text};
  while (const auto bad = find_invalid_utf8(valid)) {
    valid[*bad] = '?';
  }
  std::string out;
  append_json_string(out, valid);
  return out;
}

/// Microseconds, with the nanoseconds behind the point.
std::string microseconds(std::chrono::nanoseconds time) {
  char text[40];
  std::snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, std::int64_t{time.count() / 1'000},
                std::int64_t{time.count() % 1'000});
  return text;
}

std::string member(std::string_view name, std::string_view value) {
  return '"' + std::string{name} + "\":" + quoted_text(value);
}
std::string member(std::string_view name, std::uint64_t value) {
  return '"' + std::string{name} + "\":" + std::to_string(value);
}

}  // namespace

std::string ChromeTraceText::text_of(const std::vector<TraceEvent>& events) {
  text_.clear();
  // Events of several threads mingle: names first, so that arrows find their tracks.
  for (const TraceEvent& event : events) {
    if (const auto* engine = std::get_if<TracedEngine>(&event)) {
      show(*engine);
    } else if (const auto* actor = std::get_if<TracedActor>(&event)) {
      show(*actor);
    }
  }
  for (const TraceEvent& event : events) {
    if (!std::holds_alternative<TracedEngine>(event) &&
        !std::holds_alternative<TracedActor>(event)) {
      std::visit([this](const auto& one) { show(one); }, event);
    }
  }
  return std::exchange(text_, {});
}

std::string ChromeTraceText::last_word(TraceTime at) {
  text_.clear();
  open_event("trace ends: the file is full", "trace", "i", {0, at});
  text_ += ",\"s\":\"p\"";
  close_event();
  return std::exchange(text_, {});
}

void ChromeTraceText::show(const TracedEngine& engine) {
  pid_ = engine.pid;
  open_event("process_name", "__metadata", "M", {0, {}});
  add_arguments(member("name", "stagecall " + engine.replica));
  close_event();
  name_track(0, "engine");
}

void ChromeTraceText::show(const TracedActor& actor) {
  if (kinds_.emplace(actor.actor, actor.kind).second) {
    name_track(track_of(actor.actor),
               std::string{actor.kind} + (actor.run.empty() ? "" : " " + actor.run));
  }
}

void ChromeTraceText::show(const TracedMessage& message) {
  const std::uint64_t track = track_of(message.receiver);
  const bool is_stamped = message.enqueued != TraceTime{};
  open_event(message.kind, "message", "X", {track, message.started});
  add_duration(message.started, message.ended);
  const auto sender = kinds_.find(message.cause);
  std::string arguments =
      member("from", sender == kinds_.end() ? "outside or a timer" : sender->second) + ',' +
      member("mailbox", message.waiting) + ',' + member("outcome", name_of(message.outcome));
  if (is_stamped) {
    arguments += ",\"waited_us\":" + microseconds(message.started - message.enqueued);
  }
  add_arguments(arguments);
  close_event();
  if (is_stamped && message.cause.value != 0) {
    arrow(message.kind, "message", {track_of(message.cause), message.enqueued},
          {track, message.started});
  }
  show_mailbox(message);
}

/// Of the actors that an engine has one of; runs have a mailbox each.
void ChromeTraceText::show_mailbox(const TracedMessage& message) {
  const auto kind = kinds_.find(message.receiver);
  if (kind == kinds_.end() || kind->second == "pipeline") {
    return;
  }
  const auto [shown, is_new] = mailboxes_.try_emplace(message.receiver, message.waiting);
  if (is_new || std::exchange(shown->second, message.waiting) != message.waiting) {
    show(TracedCounter{"mailbox " + kind->second, message.started, message.waiting});
  }
}

void ChromeTraceText::show(const TracedAttempt& attempt) {
  Lane& lane = lane_for(attempt);
  lane.free_at = attempt.ended;
  const std::uint64_t track = lane.track;
  open_event(attempt.node, "attempt", "X", {track, attempt.launched});
  add_duration(attempt.launched, attempt.ended);
  std::string arguments = member("run", attempt.run.text()) + ',' + member("node", attempt.node) +
                          ',' + member("attempt", attempt.attempt.value) + ',' +
                          member("outcome", name_of(attempt.outcome.kind));
  if (!attempt.outcome.error.empty()) {
    arguments +=
        ',' + member("error", cut_utf8(attempt.outcome.error, kLimits.trace_error_bytes_max));
  }
  add_arguments(arguments);
  close_event();
  const auto actor = actors_.find(attempt.actor);
  if (actor == actors_.end()) {
    return;
  }
  if (attempt.is_local) {
    arrow("launch", "attempt", {actor->second, attempt.launched}, {track, attempt.launched});
  }
  // Within the span: its end is no part of it.
  const TraceTime end = std::max(attempt.launched, attempt.ended - std::chrono::nanoseconds{1});
  arrow("done", "attempt", {track, end}, {actor->second, attempt.recorded});
}

void ChromeTraceText::show(const TracedTerm& term) {
  const std::string run = term.run.text();
  const std::string name = "term " + std::to_string(term.term.value);
  open_event(name, "term", term.begins ? "b" : "e", {first_lane(run).track, term.at});
  text_ += ',' + member("id", run + " " + name);
  add_arguments(member("run", run) + ',' + member("term", term.term.value));
  close_event();
}

void ChromeTraceText::show(const TracedCommit& commit) {
  open_event("commit", "store", "X", {track_of(commit.actor), commit.started});
  add_duration(commit.started, commit.ended);
  add_arguments(member("writes", commit.writes) + ',' + member("refused", commit.refused) + ',' +
                "\"committed\":" + (commit.is_committed ? "true" : "false"));
  close_event();
}

void ChromeTraceText::show(const TracedTick& tick) {
  open_event("tick", "tick", "i", {track_of(tick.actor), tick.at});
  text_ += ",\"s\":\"t\"";
  add_arguments("\"late_ms\":" + std::to_string(tick.late.count()));
  close_event();
}

void ChromeTraceText::show(const TracedCounter& counter) {
  open_event(counter.name, "counter", "C", {0, counter.at});
  add_arguments(member("value", counter.value));
  close_event();
}

void ChromeTraceText::show(const TracedLoss& loss) {
  open_event("events lost", "trace", "i", {0, loss.at});
  text_ += ",\"s\":\"p\"";
  add_arguments(member("events", loss.events));
  close_event();
}

std::uint64_t ChromeTraceText::track_of(ActorNumber actor) {
  const auto [found, is_new] = actors_.try_emplace(actor, tracks_ + 1);
  tracks_ += is_new ? 1 : 0;
  return found->second;
}

ChromeTraceText::Lane& ChromeTraceText::first_lane(const std::string& run) {
  auto& lanes = lanes_[run];
  if (lanes.empty()) {
    lanes.push_back(make_lane(run, 0));
  }
  return lanes.front();
}

/// The one that became free last: so few are enough.
ChromeTraceText::Lane& ChromeTraceText::lane_for(const TracedAttempt& attempt) {
  const std::string run = attempt.run.text();
  first_lane(run);
  auto& lanes = lanes_[run];
  Lane* best = nullptr;
  for (Lane& lane : lanes) {
    if (lane.free_at <= attempt.launched && (best == nullptr || best->free_at < lane.free_at)) {
      best = &lane;
    }
  }
  if (best == nullptr) {
    lanes.push_back(make_lane(run, lanes.size()));
    best = &lanes.back();
  }
  return *best;
}

ChromeTraceText::Lane ChromeTraceText::make_lane(const std::string& run, std::size_t index) {
  const std::uint64_t track = ++tracks_;
  name_track(track, "run " + run + (index == 0 ? "" : " (" + std::to_string(index + 1) + ")"));
  return {track, TraceTime{}};
}

void ChromeTraceText::name_track(std::uint64_t track, const std::string& name) {
  open_event("thread_name", "__metadata", "M", {track, {}});
  add_arguments(member("name", name));
  close_event();
}

void ChromeTraceText::open_event(std::string_view name, std::string_view category,
                                 std::string_view phase, Place place) {
  text_ += text_.empty() ? "{" : ",\n{";
  text_ += member("name", name) + ',' + member("cat", category) + ',' + member("ph", phase) +
           ",\"ts\":" + microseconds(place.at.time_since_epoch()) +
           ",\"pid\":" + std::to_string(pid_) + ",\"tid\":" + std::to_string(place.track);
}

void ChromeTraceText::add_arguments(const std::string& members) {
  text_ += ",\"args\":{" + members + '}';
}

void ChromeTraceText::add_duration(TraceTime started, TraceTime ended) {
  text_ += ",\"dur\":" + microseconds(ended - started);
}

void ChromeTraceText::close_event() {
  text_ += '}';
}

void ChromeTraceText::arrow(std::string_view name, std::string_view category, Place from,
                            Place to) {
  const std::string id = ",\"id\":" + std::to_string(++arrows_);
  open_event(name, category, "s", from);
  text_ += id;
  close_event();
  open_event(name, category, "f", to);
  text_ += id + ",\"bp\":\"e\"";
  close_event();
}

}  // namespace stagecall
