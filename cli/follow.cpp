#include "cli/follow.hpp"

#include "cli/signals.hpp"

namespace stagecall::cli {

Result<void> follow(const Session& session, Store& store, const RunRow& row,
                    const std::function<Result<void>(const RunRow&)>& tell) {
  watch_signals();
  RunWatch watch{session, store, row};
  for (bool goes_on = true; goes_on;) {
    // The row is read first: once it has ended, all that is to be told is there.
    auto told = watch.look();
    const bool is_last = watch.has_ended() || is_interrupted();
    if (told) {
      told = tell(watch.row());
    }
    if (!told) {
      return told;
    }
    goes_on = session.output.flush() && !is_last;
    if (goes_on) {
      wait_for_signal(kLook);
    }
  }
  return {};
}

}  // namespace stagecall::cli
