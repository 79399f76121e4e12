// Judges a trace in Chrome's format event by event, as a viewer would need it.
#pragma once

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stagecall::testing {

class TraceCheck {
 public:
  explicit TraceCheck(const std::string& path)
      : value_(nlohmann::json::parse(read_at_once(path), nullptr, false)) {
    if (!is_whole()) {
      return;
    }
    for (const auto& event : value_["traceEvents"]) {
      events_.push_back(event);
      if (event["ph"] == "M" && event["name"] == "thread_name") {
        names_[event["tid"]] = event["args"]["name"];
      }
      if (event["ph"] == "X") {
        spans_[event["tid"]].push_back({time_of(event), time_of(event) + time(event["dur"])});
      }
    }
    for (auto& [track, spans] : spans_) {
      std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
    }
  }

  bool is_whole() const { return value_.is_object() && value_["traceEvents"].is_array(); }
  std::size_t size() const { return events_.size(); }
  const std::string& track_name(const nlohmann::json& event) const {
    static const std::string none;
    const auto found = names_.find(event["tid"]);
    return found == names_.end() ? none : found->second;
  }

  std::vector<nlohmann::json> all(const std::string& category, const std::string& phase) const {
    std::vector<nlohmann::json> found;
    for (const auto& event : events_) {
      if (event["cat"] == category && event["ph"] == phase) {
        found.push_back(event);
      }
    }
    return found;
  }

  /// After a kill the span that an arrow comes from may be missing: it had not ended.
  std::vector<std::string> faults(bool was_killed = false) const {
    std::vector<std::string> faults;
    std::map<std::int64_t, std::vector<nlohmann::json>> arrows;
    std::set<std::int64_t> pids;
    for (const auto& event : events_) {
      const bool has_all = event["name"].is_string() && event["ph"].is_string() &&
                           event["ts"].is_number() && event["pid"].is_number_integer() &&
                           event["tid"].is_number_integer();
      if (!has_all || track_name(event).empty()) {
        faults.push_back("lacks a member or a track's name: " + event.dump());
        continue;
      }
      pids.insert(event["pid"].get<std::int64_t>());
      if (event["ph"] == "X" && !(event["dur"].is_number() && event["dur"] >= 0)) {
        faults.push_back("has no duration: " + event.dump());
      }
      if (event["ph"] == "s" || event["ph"] == "f") {
        arrows[event["id"]].push_back(event);
      }
    }
    if (pids.size() != 1) {
      faults.push_back("is of several processes");
    }
    for (const auto& [id, ends] : arrows) {
      const bool is_pair = ends.size() == 2 && ends[0]["ph"] == "s" && ends[1]["ph"] == "f" &&
                           ends[0]["name"] == ends[1]["name"] && ends[0]["cat"] == ends[1]["cat"] &&
                           time_of(ends[0]) <= time_of(ends[1]);
      if (!is_pair) {
        faults.push_back("is no arrow: " + nlohmann::json(ends).dump());
      } else if (!was_killed && !(is_in_span(ends[0]) && is_in_span(ends[1]))) {
        faults.push_back("is an arrow from or to nowhere: " + nlohmann::json(ends).dump());
      }
    }
    add_crossings(faults);
    return faults;
  }

 private:
  /// In one call: the file may grow meanwhile.
  static std::string read_at_once(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    const bool is_there = file >= 0 && ::fstat(file, &status) == 0;
    std::string text(is_there ? static_cast<std::size_t>(status.st_size) : 0, ' ');
    const auto size = ::read(file, text.data(), text.size());
    ::close(file);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

  /// Nanoseconds: sums of doubles would not be exact.
  struct Span {
    std::int64_t begin;
    std::int64_t end;
  };

  static std::int64_t time(const nlohmann::json& microseconds) {
    return std::llround(microseconds.get<double>() * 1'000);
  }
  static std::int64_t time_of(const nlohmann::json& event) { return time(event["ts"]); }

  bool is_in_span(const nlohmann::json& event) const {
    const auto found = spans_.find(event["tid"]);
    return found != spans_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const Span& span) {
             return span.begin <= time_of(event) && time_of(event) <= span.end;
           });
  }

  /// Spans of a track lie in each other or apart.
  void add_crossings(std::vector<std::string>& faults) const {
    for (const auto& [track, spans] : spans_) {
      std::vector<std::int64_t> open;
      for (const Span& span : spans) {
        while (!open.empty() && open.back() <= span.begin) {
          open.pop_back();
        }
        if (!open.empty() && open.back() < span.end) {
          faults.push_back("spans cross on track " + names_.at(track));
        }
        open.push_back(span.end);
      }
    }
  }

  nlohmann::json value_;
  std::vector<nlohmann::json> events_;
  std::map<std::int64_t, std::string> names_;
  std::map<std::int64_t, std::vector<Span>> spans_;
};

}  // namespace stagecall::testing
