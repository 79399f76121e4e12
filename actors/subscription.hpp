// One subscription: a thread that reads on in the histories of runs and calls back.
#pragma once

#include "actors/shared_store.hpp"
#include "core/definition.hpp"
#include "stagecall/engine.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace stagecall {

class Subscription::Body : public std::enable_shared_from_this<Subscription::Body> {
 public:
  /// The clock is not looked at once it has ended.
  Body(EventFilter filter, EventCallback callback, std::shared_ptr<SharedStore> store,
       const Clock& clock, Duration look);
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  /// Finds where to begin. Once, before start().
  Result<void> place();
  /// limit_reached: there is no thread to be had.
  Result<void> start();
  void grown(const RunId& run);
  /// No callback begins any more; waits for one in progress, unless it is called from within it.
  void end();

 private:
  bool is_meant(const RunId& run) const;
  bool is_new(const RunId& run) const;
  void again(const RunId& run);
  void run();
  std::set<RunId> next();
  void look_around();
  bool tell(const RunId& run);
  bool call(const RunEvent& event);
  Result<std::shared_ptr<const Definition>> definition_of(const RunId& run);

  const EventFilter filter_;
  const EventCallback callback_;
  const std::shared_ptr<SharedStore> store_;  // shared with the engine's other readers
  const Clock& clock_;
  const Duration look_;
  std::once_flag joined_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ended_ = false;  ///< this and the next: under mutex_
  std::set<RunId> grown_;  // bounded by the number of runs

  // The thread's own.
  std::map<RunId, Seq> told_;                                       // how far; live runs only
  std::map<RunId, std::shared_ptr<const Definition>> definitions_;  // of told_
  std::map<std::string, std::uint64_t> before_;  // by pipeline: the last run older than this one
  BootTime look_at_{};
  std::set<RunId> ended_;  // told to their end, lately
  std::deque<RunId> ended_order_;
  std::optional<std::uint64_t> version_;
  std::thread thread_;
};

}  // namespace stagecall
