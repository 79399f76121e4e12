#include "executors/task_call.hpp"

#include "executors/cancelled.hpp"
#include "messages/limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <string_view>
#include <utility>

namespace stagecall {
namespace {

constexpr std::size_t kErrorBytesMax = 4'096;
/// A progress that moved by less is not told; a little under 1 %, for steps of 0.01 are not exact.
constexpr double kProgressStep = 0.01 - 1e-9;

/// An error text of the host's, fit for the history: bounded, and UTF-8 whatever it was.
std::string error_text(std::string_view text) {
  using nlohmann::json;
  const json cut = std::string{text.substr(0, kErrorBytesMax)};
  return json::parse(cut.dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

Outcome failed(std::string error) {
  return {.kind = OutcomeKind::failed, .error = std::move(error)};
}

}  // namespace

TaskCall::TaskCall(Launch launch, const Task& task, ReportOutbox& outbox)
    : launch_(std::move(launch)), task_(task), outbox_(outbox) {}

void TaskCall::run() {
  std::optional<std::string> thrown;
  try {
    task_(*this);
  } catch (const std::exception& exception) {
    const char* what = exception.what();
    thrown = error_text(what != nullptr ? what : "an exception without a text");
  } catch (...) {
    thrown = "an exception that is no std::exception";
  }
  const std::lock_guard lock{mutex_};
  thrown_ = std::move(thrown);
}

SaysEnded TaskCall::end() const {
  const std::lock_guard lock{mutex_};
  const std::optional<CancelReason> reason = stop_reason_;
  if (reason && !failure_) {
    Outcome outcome = cancelled_outcome(*reason);
    if (thrown_) {
      outcome.error += ": " + *thrown_;
    }
    return {std::move(outcome)};
  }
  if (thrown_ && !reason) {
    return {failed(*thrown_)};
  }
  if (failure_) {
    return {failed(*failure_)};
  }
  return {Outcome{}, output_};
}

const std::string& TaskCall::params() const {
  static const std::string none = "{}";
  return launch_.node->params.empty() ? none : launch_.node->params;
}

/// What could not be read is asked for again: the store may be back.
Result<TaskCall::Inputs> TaskCall::inputs() {
  const std::lock_guard lock{inputs_mutex_};
  if (!inputs_) {
    Result<Inputs> read = launch_.inputs ? launch_.inputs->read() : Inputs{};
    if (!read) {
      return read;
    }
    inputs_ = *std::move(read);
  }
  return *inputs_;
}

Result<void> TaskCall::output(std::string json) {
  if (json.size() > kLimits.output_bytes_max) {
    return stagecall::fail(ErrorCode::invalid_argument,
                           "the output of " + key().text() + " has " + std::to_string(json.size()) +
                               " bytes; allowed are " + std::to_string(kLimits.output_bytes_max));
  }
  if (!nlohmann::json::accept(json)) {
    return stagecall::fail(
        ErrorCode::invalid_argument,
        "the output of " + key().text() + " is not JSON; allowed is one JSON value");
  }
  const std::lock_guard lock{mutex_};
  output_ = std::move(json);
  return {};
}

void TaskCall::progress(double fraction) {
  if (std::isnan(fraction)) {
    return;
  }
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  {
    const std::lock_guard lock{mutex_};
    if (fraction_) {
      const double moved = std::abs(clamped - *fraction_);
      if (moved == 0 || (moved < kProgressStep && clamped < 1)) {
        return;
      }
    }
    fraction_ = clamped;
    outbox_.put_progress(key(), clamped, progress_place_);
  }
  outbox_.flush();
}

void TaskCall::fail(std::string reason) {
  std::string text = error_text(reason.empty() ? "failed" : reason);
  const std::lock_guard lock{mutex_};
  failure_ = std::move(text);
}

}  // namespace stagecall
