#include "platform/incarnations.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

namespace stagecall {
namespace {

constexpr std::size_t kRemembered = 10'000;

struct Ended {
  std::mutex mutex;
  std::set<std::string> ids;
  std::deque<std::string> order;  // oldest first
};

/// Never destroyed: an engine may end after the statics of its process.
Ended& ended() {
  static auto* const instance = new Ended;
  return *instance;
}

}  // namespace

LiveIncarnation::LiveIncarnation(std::string id) : id_(std::move(id)) {}

LiveIncarnation::~LiveIncarnation() {
  const std::lock_guard lock{ended().mutex};
  if (ended().ids.insert(id_).second) {
    ended().order.push_back(id_);
  }
  if (ended().order.size() > kRemembered) {
    ended().ids.erase(ended().order.front());
    ended().order.pop_front();
  }
}

bool has_ended_here(const std::string& incarnation) {
  const std::lock_guard lock{ended().mutex};
  return ended().ids.contains(incarnation);
}

}  // namespace stagecall
