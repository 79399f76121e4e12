// One attempt of a task: what its callable is given, and what its end is by what it said, threw and
// was told. Knows no queue and no thread.
#pragma once

#include "executors/report_outbox.hpp"
#include "stagecall/task.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace stagecall {

/// run() is called once; everything else on any thread while the call exists.
class TaskCall final : public TaskContext {
 public:
  using Inputs = std::map<std::string, std::string>;

  /// Task and outbox must outlive it.
  TaskCall(Launch launch, const Task& task, ReportOutbox& outbox);

  /// Calls the task. Whatever it throws stays here.
  void run();
  /// How the attempt ended; after run(). One that was told to end has given in if it returned or
  /// threw, and failed only if it said so by fail(): many unwind by an exception of their own.
  SaysEnded end() const;
  /// Says why the attempt is to end; its token is requested by the caller, through stop_source().
  void set_stop_reason(CancelReason reason) { stop_reason_ = reason; }
  std::stop_source stop_source() const { return stop_source_; }
  const Launch& launch() const { return launch_; }

  const AttemptKey& key() const override { return launch_.key; }
  Term term() const override { return launch_.term; }
  const std::string& params() const override;
  Result<Inputs> inputs() override;
  Result<void> output(std::string json) override;
  void progress(double fraction) override;
  void fail(std::string reason) override;
  std::stop_token stop_token() const override { return stop_source_.get_token(); }
  std::optional<CancelReason> stop_reason() const override { return stop_reason_; }

 private:
  const Launch launch_;
  const Task& task_;
  ReportOutbox& outbox_;
  std::stop_source stop_source_;
  std::atomic<std::optional<CancelReason>> stop_reason_{};

  std::mutex inputs_mutex_;  // of its own: a read may wait for the store
  std::optional<Inputs> inputs_;

  mutable std::mutex mutex_;  // of all below; taken before the outbox's
  std::string output_;
  std::optional<std::string> failure_;
  std::optional<std::string> thrown_;
  std::optional<double> fraction_;  // as last told
  ReportOutbox::ProgressPlace progress_place_;
};

}  // namespace stagecall
