#include "cli/run_watch.hpp"

#include "cli/run_text.hpp"
#include "cli/signals.hpp"
#include "core/utf8.hpp"

#include <utility>

namespace stagecall::cli {
namespace {

constexpr std::size_t kNameBytesMax = 40;

}  // namespace

RunWatch::RunWatch(const Session& session, Store& store, RunRow row)
    : session_(session), store_(store), row_(std::move(row)) {}

Result<void> RunWatch::follow(const std::function<Result<void>()>& pause) {
  while (!has_ended() && !is_interrupted()) {
    draw();
    if (auto looked = pause().and_then([this] { return look(); }); !looked) {
      session_.output.end_progress();
      return looked;
    }
  }
  session_.output.end_progress();
  return {};
}

Result<void> RunWatch::look() {
  // The version first: what is committed after it is seen by the next look at the latest.
  const auto version = store_.data_version();
  if (!version) {
    return tl::unexpected<Error>{version.error()};
  }
  if (version_ == *version) {
    return {};
  }
  auto row = store_.run(row_.run);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  version_ = *version;
  row_ = *std::move(row);
  return {};
}

void RunWatch::draw() {
  if (!session_.output.is_watched()) {
    return;
  }
  const Duration elapsed = session_.clock.wall() - row_.created_at;
  session_.output.progress(escaped(cut_utf8(row_.run.pipeline, kNameBytesMax)) + "/" +
                           std::to_string(row_.run.iteration) + " " +
                           progress_text(row_.summary.nodes) + ", " +
                           seconds_text(static_cast<double>(elapsed.count()) / 1000));
}

}  // namespace stagecall::cli
