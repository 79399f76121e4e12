// Seeing inside an engine: which actors live in it, and what it tells of its own work: messages,
// attempts, terms, commits. For people who look for what happens when; no run depends on it.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/run.hpp"
#include "stagecall/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecall {

/// A moment on CLOCK_BOOTTIME in nanoseconds: comparable between the processes of one boot.
using TraceTime = std::chrono::time_point<BootClock, std::chrono::nanoseconds>;

/// Names an actor of one engine; never reused in it, 0 = none.
using ActorNumber = Number<struct ActorNumberTag, std::uint64_t>;

/// The first event of a trace: whose it is.
struct TracedEngine {
  std::string replica;   ///< the engine's name
  std::int64_t pid = 0;  ///< of its process
};

/// An actor that the next events speak of; in front of its own ones.
struct TracedActor {
  ActorNumber actor;      ///< which
  std::string_view kind;  ///< `pipeline`, `store`, …; static
  std::string run{};      ///< of a run's actor: the run; else empty
  TraceTime at{};         ///< when it is told of
};

/// What became of a message.
enum class MessageOutcome : std::uint8_t {
  handled,  ///< its handler has returned
  skipped,  ///< left in the mailbox for later
  dropped,  ///< out of date, or nobody waits for it any more
  threw,    ///< its handler threw; the engine has logged that
};
/// The outcome's name: `handled`.
std::string_view name_of(MessageOutcome outcome);

/// A message that an actor has handled.
struct TracedMessage {
  ActorNumber receiver;     ///< who handled it
  ActorNumber cause;        ///< in whose handling it was sent; none: by a timer or from outside
  std::string_view kind;    ///< type of its content: `WriteRequest`; static
  TraceTime enqueued{};     ///< put into the mailbox; 0: before the trace began
  TraceTime started{};      ///< taken from it
  TraceTime ended{};        ///< handled
  std::size_t waiting = 0;  ///< messages that were in the mailbox behind it
  MessageOutcome outcome = MessageOutcome::handled;  ///< what became of it
};

/// An attempt whose end is recorded.
struct TracedAttempt {
  ActorNumber actor;      ///< of its run
  RunId run;              ///< whose
  std::string node;       ///< its id
  Attempt attempt;        ///< which try
  TraceTime launched{};   ///< handed to its executor, or, if that was elsewhere, known to run
  TraceTime ended{};      ///< its end was told
  TraceTime recorded{};   ///< its end was durable
  bool is_local = false;  ///< it was launched by that actor while it was traced
  Outcome outcome{};      ///< how it ended
};

/// A holding of a run begins or ends here.
struct TracedTerm {
  ActorNumber actor;    ///< of the run
  RunId run;            ///< which
  Term term;            ///< of that holding
  TraceTime at{};       ///< when
  bool begins = false;  ///< else it ends
};

/// A transaction of the store.
struct TracedCommit {
  ActorNumber actor;          ///< that made it
  TraceTime started{};        ///< handed to the store
  TraceTime ended{};          ///< durable, or refused as a whole
  std::size_t writes = 0;     ///< of all runs in it
  std::size_t refused = 0;    ///< of these, without effect
  bool is_committed = false;  ///< false: nothing of it is known to be durable
};

/// A run's timer has fired.
struct TracedTick {
  ActorNumber actor;  ///< of the run
  TraceTime at{};     ///< when
  Duration late{0};   ///< after it was due
};

/// A quantity from this moment on.
struct TracedCounter {
  std::string name;         ///< `live runs`, `slots busy`, …
  TraceTime at{};           ///< when
  std::uint64_t value = 0;  ///< how many
};

/// Events that were not taken fast enough, or for which there was no room.
struct TracedLoss {
  TraceTime at{};            ///< noticed
  std::uint64_t events = 0;  ///< since the one before
};

/// One thing that happened. They come nearly in the order of time in which they ended.
using TraceEvent = std::variant<TracedEngine, TracedActor, TracedMessage, TracedAttempt, TracedTerm,
                                TracedCommit, TracedTick, TracedCounter, TracedLoss>;

/// Where a trace goes.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  /// Takes what has come since the last call; not empty. One call at a time, on a thread of the
  /// trace's own, several times a second. One that is slow delays no actor: what does not fit in
  /// meanwhile is dropped and counted. One that throws is logged and not called again.
  virtual void take(const std::vector<TraceEvent>& events) = 0;
  /// Where it goes, for people; not empty.
  virtual std::string place() const { return "a sink of the host"; }
};

/// Where a trace goes and what it is about.
struct TraceOptions {
  std::shared_ptr<TraceSink> sink{};  ///< none: no trace
  /// Actors whose messages are told, by kind (`pipeline`, `store`, `custodian`, `supervisor`,
  /// `lock_manager`, `slot_broker`); none: all.
  std::vector<std::string> kinds{};
  /// Runs whose actors, attempts and terms are told; none: all.
  std::vector<RunId> runs{};
};

/// Writes a file that ui.perfetto.dev and chrome://tracing read: one JSON object, whole after every
/// write, so that it may be read while it grows and after a crash. Replaces what was there; stops
/// at 256 MiB. invalid_argument: it cannot be written, is no regular file, or another process
/// writes it.
Result<std::shared_ptr<TraceSink>> open_chrome_trace(const std::string& path);

/// An actor of an engine at one moment.
struct ActorInsight {
  std::string kind;            ///< `pipeline`, `store`, `supervisor`, …
  bool is_busy = false;        ///< it has not answered: what follows is not known
  std::uint64_t handled = 0;   ///< messages so far
  std::uint64_t waiting = 0;   ///< messages in its mailbox
  std::string last_message{};  ///< type of the last one that it has handled
  std::map<std::string, std::uint64_t> counters{};  ///< since the engine was opened
  /// Of the actor of a run.
  struct Run {
    RunId run;                          ///< which
    RunState state = RunState::queued;  ///< as durable
    Term term{};                        ///< under which it is held
    std::uint32_t attempts = 0;         ///< that have not ended
    Duration next_tick{0};              ///< until its timer fires
    Duration lease_left{0};             ///< of its trust in its lease; negative: over
    bool is_parked = false;             ///< it decides nothing until its lease is trusted again
  };
  std::optional<Run> run{};  ///< none: of another kind; of a busy one only its name is known
};

/// What lives in one engine.
struct EngineInsight {
  std::string replica;                 ///< its name
  std::int64_t pid = 0;                ///< of its process
  std::uint64_t runs = 0;              ///< held here, with those not listed
  std::string trace{};                 ///< where its trace goes; empty: it has none
  std::vector<ActorInsight> actors{};  ///< runs last, by name, at most 10,000 of them
};

}  // namespace stagecall
