// The engine's side of the process executor: one thread that owns all its state, the launcher and
// the talk with it. Others put requests in a queue.
#pragma once

#include "executors/command_environment.hpp"
#include "executors/launcher_process.hpp"
#include "executors/launcher_protocol.hpp"
#include "executors/process_executor.hpp"
#include "executors/recent_keys.hpp"
#include "stagecall/executor.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace stagecall {

class ProcessWorker {
 public:
  /// Clock and sink must outlive it.
  ProcessWorker(ProcessExecutorOptions options, const Clock& clock, ReportSink& sink);
  ~ProcessWorker() { close(Duration{0}); }

  Result<void> start();

  struct Close {
    Duration deadline;
  };
  using Request = std::variant<std::vector<Launch>, std::vector<Cancel>, std::vector<AttemptQuery>,
                               std::vector<AttemptKey>, Close>;
  /// From any thread; never waits. Requests are carried out in their order.
  void ask(Request request);
  /// Ends what runs and the thread; returns within the deadline, give or take the time of a kill.
  void close(Duration deadline);

 private:
  using Moment = BootTime;

  enum class Stage : std::uint8_t { handed, running, ended, absent };
  struct Entry {
    LaunchId id;
    Stage stage = Stage::handed;
    SaysEnded end{};       ///< when ended
    SaysAbsent absence{};  ///< when absent
    bool has_folder = false;
  };
  using Entries = std::unordered_map<AttemptKey, Entry>;

  void run();
  void wait();
  void take_requests();
  void finish_close();

  void handle(std::vector<Launch>&& launches);
  void handle(std::vector<Cancel>&& cancels);
  void handle(std::vector<AttemptQuery>&& queries);
  void handle(std::vector<AttemptKey>&& acknowledged);
  void handle(Close&& request);

  void launch(const Launch& launch);
  std::optional<Outcome> reason_against(const Launch& launch) const;
  AttemptNews news_of(const AttemptQuery& query) const;
  std::string folder_of(const AttemptKey& key) const;

  void send();
  void receive();
  void hear(const LauncherFrame& frame);
  void restart_if_due();
  void launcher_died();
  void settle_open();
  void settle(const AttemptKey& key, AttemptNews news);
  void tell(const AttemptKey& key, AttemptNews news);
  void deliver();

  ProcessExecutorOptions options_;
  const Clock& clock_;
  ReportSink& sink_;
  Environment allowed_;

  std::mutex mutex_;
  std::vector<Request> requests_;  ///< under mutex_
  bool is_closed_ = false;         // what is asked from then on is dropped
  UniqueFd wake_;                  ///< eventfd; counts while there are requests

  // Below: of the thread only.
  std::optional<LauncherProcess> launcher_;
  FrameReader reader_;
  std::string unsent_;
  std::size_t sent_ = 0;  ///< of unsent_
  Moment started_at_{};
  Moment restart_at_{};
  Duration restart_delay_{0};
  std::optional<Moment> close_at_{};
  std::uint64_t last_id_ = 0;
  Entries entries_;
  std::unordered_map<std::uint64_t, const AttemptKey*> open_;  ///< not ended; into entries_
  RecentKeys cancelled_early_{kRememberedKeys};
  RecentKeys acknowledged_{kRememberedKeys};
  std::vector<AttemptReport> reports_;

  std::thread thread_;
};

}  // namespace stagecall
