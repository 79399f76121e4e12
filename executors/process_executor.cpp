#include "executors/process_executor.hpp"

#include "executors/process_worker.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace stagecall {
namespace {

class ProcessExecutor final : public Executor {
 public:
  ProcessExecutor(ProcessExecutorOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  std::string_view name() const override { return "process"; }

  Result<void> open(ReportSink& sink) override {
    worker_.emplace(options_, clock_, sink);
    auto started = worker_->start();
    if (!started) {
      worker_.reset();
    }
    return started;
  }

  bool can_run(const NodeSpec& node) const override {
    const auto* command = std::get_if<CommandAction>(&node.action);
    return command != nullptr && command->executor == CommandExecutor::process;
  }

  void submit(std::vector<Launch> launches) override { ask(std::move(launches)); }
  void cancel(std::vector<Cancel> cancels) override { ask(std::move(cancels)); }
  void query(std::vector<AttemptQuery> queries) override { ask(std::move(queries)); }
  void acknowledge(std::vector<AttemptKey> keys) override { ask(std::move(keys)); }

  void close(Duration deadline) override {
    if (worker_) {
      worker_->close(deadline);
    }
  }

 private:
  void ask(ProcessWorker::Request request) {
    if (worker_) {
      worker_->ask(std::move(request));
    }
  }

  ProcessExecutorOptions options_;
  const Clock& clock_;
  std::optional<ProcessWorker> worker_;
};

}  // namespace

std::unique_ptr<Executor> make_process_executor(ProcessExecutorOptions options,
                                                const Clock& clock) {
  return std::make_unique<ProcessExecutor>(std::move(options), clock);
}

}  // namespace stagecall
