// Which engines live in this process: it may hold several, and outlives each of them, so that its
// own life proves nothing of theirs.
#pragma once

#include <string>

namespace stagecall {

/// From its making to its end the incarnation counts as alive here.
class LiveIncarnation {
 public:
  explicit LiveIncarnation(std::string id);
  ~LiveIncarnation();
  LiveIncarnation(const LiveIncarnation&) = delete;
  LiveIncarnation& operator=(const LiveIncarnation&) = delete;

 private:
  std::string id_;
};

/// Any thread.
bool is_live_here(const std::string& incarnation);

}  // namespace stagecall
