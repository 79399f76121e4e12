// What only the holder of a run knows of it: facts of this moment that are nowhere recorded.
#pragma once

#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecall {

/// How far an attempt is.
struct NodeProgress {
  std::string node;
  Attempt attempt{};
  double fraction = 0;  ///< 0 … 1
  friend bool operator==(const NodeProgress&, const NodeProgress&) = default;
};

struct HeldView {
  RunId run;
  Term term{};                           ///< under which it is held
  std::string replica{};                 ///< the holder's name
  std::string parked{};                  ///< why it makes no pass; empty = it does
  bool is_draining = false;              ///< it starts nothing more and will let go of the run
  Duration lease_left{0};                ///< of its trust in its lease; negative: over
  std::uint32_t slots_free = 0;          ///< that the run could have now
  bool slots_contended = false;          ///< other runs wait for slots as well
  std::vector<NodeProgress> progress{};  ///< of the running nodes that a status names
  friend bool operator==(const HeldView&, const HeldView&) = default;
};

}  // namespace stagecall
