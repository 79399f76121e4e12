// The latest keys of some kind, forgetting the oldest beyond a bound.
#pragma once

#include "stagecall/ids.hpp"

#include <cstddef>
#include <deque>
#include <unordered_set>

namespace stagecall {

class RecentKeys {
 public:
  explicit RecentKeys(std::size_t count_max) : count_max_(count_max) {}

  bool has(const AttemptKey& key) const { return keys_.contains(key); }

  void add(const AttemptKey& key) {
    if (!keys_.insert(key).second) {
      return;
    }
    order_.push_back(key);
    if (order_.size() > count_max_) {
      keys_.erase(order_.front());
      order_.pop_front();
    }
  }

 private:
  std::size_t count_max_;
  std::unordered_set<AttemptKey> keys_;
  std::deque<AttemptKey> order_;
};

/// Cancels that came before their submit, and acknowledged keys, are remembered so far.
inline constexpr std::size_t kRememberedKeys = 4'096;

}  // namespace stagecall
