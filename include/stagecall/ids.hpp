// Identities: which run, node, attempt, term. Values only; no lookup, no I/O.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stagecall {

/// A number with a meaning of its own: two of different tags never mix.
template <class Tag, class Rep>
struct Number {
  Rep value{};  ///< the plain number, for arithmetic and output
  friend constexpr auto operator<=>(const Number&, const Number&) = default;
};

/// Which try of a node; the first is 1, 0 means "none yet".
using Attempt = Number<struct AttemptTag, std::uint32_t>;
/// Position of a node in its pipeline, from 0, in document order.
using NodeIndex = Number<struct NodeIndexTag, std::uint32_t>;
/// The fencing token: one continuous holding of a run; larger each time, 0 = never held.
using Term = Number<struct TermTag, std::uint64_t>;
/// Position of a pass in a run's history; the first is 1, 0 means "empty history".
using Seq = Number<struct SeqTag, std::uint64_t>;
/// Random per attempt, so that a key is never used twice, even after pruning.
using Nonce = Number<struct NonceTag, std::uint64_t>;

/// One execution of a pipeline. Iterations count 1, 2, … per pipeline and are never reused.
struct RunId {
  std::string pipeline;         ///< its pipeline's name, bytes as given
  std::uint64_t iteration = 0;  ///< from 1; 0 names no run

  friend auto operator<=>(const RunId&, const RunId&) = default;
  /// `pipeline/iteration`.
  std::string text() const { return pipeline + "/" + std::to_string(iteration); }
  /// Splits at the last `/` if a number from 1 on follows; else none.
  static std::optional<RunId> parse(std::string_view text);
};

/// Names one attempt for its executor; an executor launches one key at most once.
struct AttemptKey {
  RunId run;         ///< whose node it is
  std::string node;  ///< the node's id
  Attempt attempt;   ///< which try of the node, from 1
  Nonce nonce;       ///< keeps the key apart from those of pruned runs of the same name

  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
  /// `pipeline/iteration/node/attempt@nonce`, the nonce as 16 hexadecimal digits.
  std::string text() const;
};

/// Folds a hash into another one (boost's mixing constant).
constexpr std::size_t mix_hash(std::size_t seed, std::size_t hash) {
  return seed ^ (hash + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

}  // namespace stagecall

template <>
struct std::hash<stagecall::RunId> {
  std::size_t operator()(const stagecall::RunId& run) const noexcept {
    return stagecall::mix_hash(std::hash<std::string>{}(run.pipeline), run.iteration);
  }
};

template <>
struct std::hash<stagecall::AttemptKey> {
  std::size_t operator()(const stagecall::AttemptKey& key) const noexcept {
    const auto seed = std::hash<stagecall::RunId>{}(key.run);
    return stagecall::mix_hash(stagecall::mix_hash(seed, key.nonce.value), key.attempt.value);
  }
};

template <class Tag, class Rep>
struct std::hash<stagecall::Number<Tag, Rep>> {
  std::size_t operator()(const stagecall::Number<Tag, Rep>& number) const noexcept {
    return std::hash<Rep>{}(number.value);
  }
};
