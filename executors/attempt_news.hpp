// What can be told of an attempt from its files alone, when the launcher that had it is gone.
#pragma once

#include "stagecall/executor.hpp"

#include <string>

namespace stagecall {

/// The end with the output that the command left; an output that may not count fails the attempt.
SaysEnded ended_with_output(const std::string& attempt_folder, Outcome outcome);

/// The launcher is proven dead: ended as the exit record says, else absent; never launched if
/// there is no folder, which is then made, so that it stays so.
AttemptNews news_without_launcher(const std::string& attempt_folder);

/// As above, but unknown as long as a launcher of that incarnation lives.
AttemptNews news_of_incarnation(const std::string& folder, const AttemptQuery& query);

}  // namespace stagecall
