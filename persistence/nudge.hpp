// Hints between the processes of one store that something changed, by datagram sockets in
// `STORE.d/nudge/`. Losing one costs at most a tick, never correctness.
#pragma once

#include "stagecall/error.hpp"

#include <functional>
#include <memory>
#include <string>

namespace stagecall {

/// Receives nudges for one incarnation until destroyed. `on_nudge` is called on the receiver's own
/// thread with the text that was sent (a run, as `pipeline/iteration`, or nothing).
class NudgeReceiver {
 public:
  virtual ~NudgeReceiver() = default;
};

Result<std::unique_ptr<NudgeReceiver>> open_nudge_receiver(
    const std::string& store_folder, const std::string& incarnation,
    std::function<void(std::string)> on_nudge);

/// Sends to one incarnation, or, if that one is empty or does not listen, to all. Never blocks;
/// sockets that nobody reads any more are removed.
void send_nudge(const std::string& store_folder, const std::string& incarnation,
                const std::string& text);

}  // namespace stagecall
