// Which engines have ended in this process: it may hold several, and outlives each of them, so that
// its own life proves nothing of theirs.
#pragma once

#include <string>

namespace stagecall {

/// Held by an engine. With its end the incarnation counts as gone.
class LiveIncarnation {
 public:
  explicit LiveIncarnation(std::string id);
  ~LiveIncarnation();
  LiveIncarnation(const LiveIncarnation&) = delete;
  LiveIncarnation& operator=(const LiveIncarnation&) = delete;

 private:
  std::string id_;
};

/// Whether it lived in this process and has ended; of the last 10,000. Any thread.
bool has_ended_here(const std::string& incarnation);

}  // namespace stagecall
