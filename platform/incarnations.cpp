#include "platform/incarnations.hpp"

#include <mutex>
#include <set>
#include <utility>

namespace stagecall {
namespace {

struct Registry {
  std::mutex mutex;
  std::multiset<std::string> ids;
};

/// Never destroyed: an engine may end after the statics of its process.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

}  // namespace

LiveIncarnation::LiveIncarnation(std::string id) : id_(std::move(id)) {
  const std::lock_guard lock{registry().mutex};
  registry().ids.insert(id_);
}

LiveIncarnation::~LiveIncarnation() {
  const std::lock_guard lock{registry().mutex};
  registry().ids.erase(registry().ids.find(id_));
}

bool is_live_here(const std::string& incarnation) {
  const std::lock_guard lock{registry().mutex};
  return registry().ids.contains(incarnation);
}

}  // namespace stagecall
