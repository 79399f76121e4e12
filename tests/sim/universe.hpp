// What all simulated parts share: the one clock, the dice, the faults, and the record of what
// happened. A broken rule ends the simulation; the first one counts.
#pragma once

#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"
#include "tests/sim/dice.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace stagecall::sim {

struct BrokenRule {
  std::string rule{};  ///< stable name; empty = none is broken
  std::string text{};
};

class Universe {
 public:
  Universe(std::uint64_t seed, std::map<std::string, double> faults, bool is_loud)
      : dice(seed), faults_(std::move(faults)), is_loud_(is_loud) {}

  BootTime now{Duration{1'000'000}};
  Dice dice;

  /// Whether this fault happens now: by its chance for calls, for what may happen at any time by
  /// its rate a second and the time that has passed. None happens once all are over.
  bool strikes(const std::string& fault, double share = 1);
  void end_faults() { faults_.clear(); }
  /// Whether a fault of this kind, such as `lease.`, has happened.
  bool was_struck_by(const std::string& kind) const {
    const auto found = counts_.lower_bound(kind);
    return found != counts_.end() && found->first.starts_with(kind);
  }
  void count(const std::string& fault) { ++counts_[fault]; }
  /// What a call costs; time stands still for nobody else.
  void spend(Duration time) { now += time; }

  void note(const std::string& text);
  void blame(const std::string& rule, const std::string& text);

  const BrokenRule& broken() const { return broken_; }
  bool is_broken() const { return !broken_.rule.empty(); }
  /// Of all that happened, in its order.
  std::uint64_t trace_hash() const { return hash_; }
  const std::deque<std::string>& recent() const { return recent_; }
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  std::map<std::string, double> faults_;
  std::map<std::string, std::uint64_t> counts_;
  std::deque<std::string> recent_;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  BrokenRule broken_;
  bool is_loud_;
};

}  // namespace stagecall::sim
