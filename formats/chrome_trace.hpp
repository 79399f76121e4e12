// A trace as the events of Chrome's trace format, which Perfetto reads as well: a track for each
// actor, tracks for each run's attempts, arrows from cause to effect.
#pragma once

#include "stagecall/trace.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

/// Remembers which tracks it has named: one for each file.
class ChromeTraceText {
 public:
  /// JSON objects, one a line, with commas between them; empty: nothing of it is shown.
  std::string text_of(const std::vector<TraceEvent>& events);
  /// Says that the trace goes on no further.
  std::string last_word(TraceTime at);

 private:
  /// Attempts of one run overlap; those of one track must not.
  struct Lane {
    std::uint64_t track;
    TraceTime free_at;
  };
  struct Place {
    std::uint64_t track;
    TraceTime at;
  };

  void show(const TracedEngine& engine);
  void show(const TracedActor& actor);
  void show(const TracedMessage& message);
  void show(const TracedAttempt& attempt);
  void show(const TracedTerm& term);
  void show(const TracedCommit& commit);
  void show(const TracedTick& tick);
  void show(const TracedCounter& counter);
  void show(const TracedLoss& loss);
  void show_mailbox(const TracedMessage& message);

  std::uint64_t track_of(ActorNumber actor);
  Lane& first_lane(const std::string& run);
  Lane& lane_for(const TracedAttempt& attempt);
  Lane make_lane(const std::string& run, std::size_t index);
  void name_track(std::uint64_t track, const std::string& name);
  void open_event(std::string_view name, std::string_view category, std::string_view phase,
                  Place place);
  void add_arguments(const std::string& members);
  void add_duration(TraceTime started, TraceTime ended);
  void close_event();
  void arrow(std::string_view name, std::string_view category, Place from, Place to);

  std::string text_;
  std::int64_t pid_ = 0;
  std::uint64_t tracks_ = 0;
  std::uint64_t arrows_ = 0;
  std::map<ActorNumber, std::uint64_t> actors_;
  std::map<ActorNumber, std::string> kinds_;        // of those that were named
  std::map<ActorNumber, std::size_t> mailboxes_;    // as last shown
  std::map<std::string, std::vector<Lane>> lanes_;  // by run
};

}  // namespace stagecall
