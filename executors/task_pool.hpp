// Runs the host's callables, by name, on threads of its own. Which attempt may run when is the
// engine's business; this one only calls, tells to end, and says what became of it.
#pragma once

#include "stagecall/executor.hpp"
#include "stagecall/task.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

/// All calls are safe on any thread, several at once; open and close but once, and close not from
/// within a report. The threads: one that tells attempts to end and watches their grace, and up to
/// threads_max that call, started as they are needed; each of them reports. What finds none free
/// waits in the order of its submit, no more than the engine has slots.
class TaskPool final : public Executor {
 public:
  /// The clock serves the launch guard and the grace, and must outlive the pool. 0 threads are 1.
  TaskPool(const Clock& clock, unsigned threads_max);
  ~TaskPool() override;

  /// From now on nodes may name this task. invalid_argument if the name is taken, empty, longer
  /// than 255 bytes or holds a control character, or if the task is empty.
  Result<void> add(std::string name, Task task);
  /// Calls that are still running though nobody waits for them any more, their grace or the pool's
  /// close being over. Each has a thread, beside those that replaced them.
  std::size_t abandoned() const;

  std::string_view name() const override { return "task"; }
  Result<void> open(ReportSink& sink) override;
  bool can_run(const NodeSpec& node) const override;
  void submit(std::vector<Launch> launches) override;
  /// A call is told through its stop_token. One that has not returned `grace` later is abandoned:
  /// its end is reported only if it comes after all.
  void cancel(std::vector<Cancel> cancels) override;
  void query(std::vector<AttemptQuery> queries) override;
  void acknowledge(std::vector<AttemptKey> keys) override;
  /// Tells all to end and waits for them; what has not returned by the deadline is abandoned, and
  /// may go on after the pool is gone.
  void close(Duration deadline) override;

 private:
  class Shared;
  // Shared with the threads: a call that is abandoned may return when the pool is gone.
  std::shared_ptr<Shared> shared_;
};

}  // namespace stagecall
