#include "tests/sim/universe.hpp"

#include <iostream>

namespace stagecall::sim {
namespace {

constexpr std::size_t kRemembered = 60;

}  // namespace

bool Universe::strikes(const std::string& fault, double share) {
  const auto found = faults_.find(fault);
  if (found == faults_.end() || !dice.hits(found->second * share)) {
    return false;
  }
  count(fault);
  note("fault " + fault);
  return true;
}

void Universe::note(const std::string& text) {
  std::string line = std::to_string(now.time_since_epoch().count()) + " " + text;
  for (const char byte : line) {
    hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  }
  if (is_loud_) {
    std::cerr << line << '\n';
  }
  recent_.push_back(std::move(line));
  if (recent_.size() > kRemembered) {
    recent_.pop_front();
  }
}

void Universe::blame(const std::string& rule, const std::string& text) {
  note("broken " + rule + ": " + text);
  if (!is_broken()) {
    broken_ = {rule, text};
  }
}

}  // namespace stagecall::sim
