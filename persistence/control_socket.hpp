// Questions to the live processes of a store, by stream sockets in `STORE.d/control/`: one line
// asks, one text answers. For people who look inside; no run depends on it.
#pragma once

#include "stagecall/error.hpp"
#include "stagecall/time.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecall {

/// Answers for one incarnation until destroyed, on a thread of its own: a client that is slow holds
/// up nobody, one that is stuck is dropped after a while.
class ControlServer {
 public:
  virtual ~ControlServer() = default;
};

/// The text that answers a line; called on the server's thread, one call at a time.
using ControlAnswer = std::function<std::string(const std::string& line)>;

/// The clock outlives it.
Result<std::unique_ptr<ControlServer>> open_control_server(const std::string& store_folder,
                                                           const std::string& incarnation,
                                                           const Clock& clock,
                                                           ControlAnswer answer);

/// What the live processes answer, in the order of their incarnations. One that does not within the
/// wait is left out, and so is what a dead one left behind.
std::vector<std::string> ask_control_servers(const std::string& store_folder,
                                             const std::string& line, Duration wait,
                                             const Clock& clock);

/// What one of them answers; none: it is not there, or does not answer within the wait.
std::optional<std::string> ask_control_server(const std::string& store_folder,
                                              const std::string& incarnation,
                                              const std::string& line, Duration wait,
                                              const Clock& clock);

}  // namespace stagecall
