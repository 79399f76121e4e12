// A task: the host's callable that a node names, and what it is given while it runs.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/executor.hpp"
#include "stagecall/ids.hpp"

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

namespace stagecall {

/// One attempt of a task node, as its callable sees it. Valid until the callable returns, on any
/// thread that the callable waits for.
class TaskContext {
 public:
  virtual ~TaskContext() = default;

  /// Which attempt this is. `key().text()` names it and no other, ever: a resource of the host's
  /// own can refuse a key that it has seen.
  virtual const AttemptKey& key() const = 0;
  /// The fencing token under which it was launched; larger at each change of the run's holder.
  virtual Term term() const = 0;
  /// The node's params: a JSON object as text; `{}` if the node has none.
  virtual const std::string& params() const = 0;
  /// What the node's dependencies have left: JSON texts by node id. Reads the store once, and may
  /// wait for it; what could not be read is read again by the next call.
  virtual Result<std::map<std::string, std::string>> inputs() = 0;

  /// Leaves a JSON text for the node's successors; the last call counts, and only if the attempt
  /// succeeds. invalid_argument if it is not JSON, or longer than 64 KiB.
  virtual Result<void> output(std::string json) = 0;
  /// Says how much is done, 0 … 1; what lies outside is clamped. Shown, not recorded; cheap in a
  /// tight loop: what moved by less than 1 % is not told.
  virtual void progress(double fraction) = 0;
  /// The attempt failed, for this reason; shown to people, up to 4,096 bytes of it. An exception
  /// that leaves the callable means the same, with its what(). The last call counts. Not needed to
  /// heed a stop: who returns or throws after it is stopped, who says this has failed.
  virtual void fail(std::string reason) = 0;

  /// Requested when the attempt is to end: return soon. A task that has not returned `grace` later
  /// is abandoned: its thread goes on, its result no longer counts. Stop callbacks run on a thread
  /// of the pool's that all its tasks share: they return at once and do not throw.
  virtual std::stop_token stop_token() const = 0;
  /// Why; none while it may go on.
  virtual std::optional<CancelReason> stop_reason() const = 0;
};

/// Runs on a thread of its own pool, never on one of the engine's scheduler; may block. Called for
/// several attempts at once. It must outlive the engine, also by what it refers to: an abandoned
/// call may still use it.
using Task = std::function<void(TaskContext&)>;

}  // namespace stagecall
