// Follows a run from outside until it ends, by what the store says of it.
#pragma once

#include "cli/session.hpp"
#include "persistence/store.hpp"

#include <functional>

namespace stagecall::cli {

/// How long a look at the store may be late.
inline constexpr Duration kLook{100};

class RunWatch {
 public:
  /// The store must outlive it.
  RunWatch(const Session& session, Store& store, RunRow row);

  /// Looks again until the run has ended or somebody interrupts; `pause` waits between two looks.
  Result<void> follow(const std::function<Result<void>()>& pause);

  /// As last seen.
  const RunRow& row() const { return row_; }
  bool has_ended() const { return is_terminal(row_.summary.state); }

  /// One look. Costs little while nothing has changed.
  Result<void> look();

 private:
  void draw();

  const Session& session_;
  Store& store_;
  RunRow row_;
  std::optional<std::uint64_t> version_{};
};

}  // namespace stagecall::cli
