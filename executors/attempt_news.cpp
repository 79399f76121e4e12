#include "executors/attempt_news.hpp"

#include "executors/attempt_files.hpp"
#include "executors/attempt_path.hpp"
#include "executors/launcher_lock.hpp"
#include "messages/limits.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <optional>
#include <utility>

namespace stagecall {
namespace {

/// What a command left in its folder's `output`: JSON, or why it may not count; empty = none.
struct OutputText {
  std::string json{};
  std::string fault{};
};

OutputText read_output(const std::string& folder) {
  std::optional<std::string> bytes =
      read_regular_file(folder + "/output", kLimits.output_bytes_max);
  if (!bytes || bytes->empty()) {
    return {};
  }
  if (bytes->size() > kLimits.output_bytes_max) {
    return {.fault = "the output in STAGECALL_OUTPUT is longer than " +
                     std::to_string(kLimits.output_bytes_max) + " bytes"};
  }
  if (!nlohmann::json::accept(*bytes)) {
    return {.fault = "the output in STAGECALL_OUTPUT is not JSON"};
  }
  return {.json = *std::move(bytes)};
}

}  // namespace

SaysEnded ended_with_output(const std::string& attempt_folder, Outcome outcome) {
  if (outcome.kind != OutcomeKind::succeeded) {
    return {std::move(outcome)};
  }
  OutputText output = read_output(attempt_folder);
  if (!output.fault.empty()) {
    outcome.kind = OutcomeKind::failed;
    outcome.error = std::move(output.fault);
  }
  return {std::move(outcome), std::move(output.json)};
}

AttemptNews news_without_launcher(const std::string& attempt_folder) {
  if (auto outcome = read_exit_record(attempt_folder)) {
    return ended_with_output(attempt_folder, *std::move(outcome));
  }
  const int error = make_folder(attempt_folder);
  if (error == EEXIST) {
    return SaysAbsent{.proven = true};
  }
  if (error != 0) {
    return SaysUnknown{};
  }
  const Outcome outcome{.kind = OutcomeKind::not_launched, .error = "not launched"};
  write_exit_record(attempt_folder, outcome);
  return SaysEnded{outcome};
}

AttemptNews news_of_incarnation(const std::string& folder, const AttemptQuery& query) {
  const std::string attempt = attempt_folder(folder, query.key);
  // The lock first: a record written after this look is found below, once nobody holds the lock.
  const bool is_alive = is_launcher_alive(folder, query.incarnation);
  if (!is_alive) {
    return news_without_launcher(attempt);
  }
  if (auto outcome = read_exit_record(attempt)) {
    return ended_with_output(attempt, *std::move(outcome));
  }
  return SaysUnknown{};
}

}  // namespace stagecall
