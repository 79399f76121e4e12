// What went wrong, said so that a program can branch on it and a person can act on it.
#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecall {

/// Stable codes: a released one never changes its meaning. Their names are the `code` in JSON.
enum class ErrorCode : std::uint8_t {
  invalid_argument,      ///< an option or argument out of its range, or ill-formed
  invalid_pipeline,      ///< a pipeline file was refused; see Error::problems
  not_found,             ///< no such run, node, attempt or file
  different_pipeline,    ///< the live run has another definition
  not_external,          ///< node-done for a node that is not external
  not_waiting,           ///< node-done for an external node that is not running
  old_attempt,           ///< node-done for an attempt that is no longer the current one
  store_unavailable,     ///< the store cannot be opened, read or written now
  store_damaged,         ///< the store's content is not what was written
  store_newer,           ///< the store was written by a later release
  outcome_unknown,       ///< a commit may or may not have taken place
  fenced,                ///< a later term owns the run: this writer no longer counts
  history_moved,         ///< an append does not continue the run's history
  lease_busy,            ///< somebody else holds the lease
  lease_lost,            ///< the lease is no longer ours
  lease_unavailable,     ///< the lease store cannot be asked now
  lease_authority,       ///< the store belongs to another lease authority
  executor_unavailable,  ///< the executor cannot be started or asked now
  limit_reached,         ///< a bound named in Limits is reached
  unsupported,           ///< not built in, or not on this system
  internal,              ///< a defect of Stagecall
};

/// The code's name, as in JSON: `not_found`.
std::string_view name_of(ErrorCode code);

/// One fault of an input file.
struct Problem {
  std::string where;    ///< a JSON pointer, or `byte N` counted from 0
  std::string value;    ///< what stood there, cut at 80 bytes, valid UTF-8; may be empty
  std::string message;  ///< what is wrong and what is allowed
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Why a call has not done what it was asked for.
struct Error {
  ErrorCode code = ErrorCode::internal;  ///< to branch on
  std::string message;               ///< what was tried, on what, what came back, what happens next
  std::vector<Problem> problems{};   ///< invalid_pipeline only; document order, at most 20
  std::vector<std::string> cycle{};  ///< invalid_pipeline only: all ids of one cycle, in order

  friend bool operator==(const Error&, const Error&) = default;
};

/// What nearly every call returns: its value, or an Error. Must be looked at.
template <class T>
using Result = tl::expected<T, Error>;

/// Shorthand: `return fail(ErrorCode::not_found, "…");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>{Error{code, std::move(message)}};
}

}  // namespace stagecall
