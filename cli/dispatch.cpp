#include "cli/dispatch.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/option_sources.hpp"
#include "cli/output.hpp"
#include "platform/system_clock.hpp"

#include <fcntl.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace stagecall::cli {
namespace {

struct Command {
  const char* name;
  Result<ExitCode> (*execute)(const Session&);
};
constexpr std::array kCommands{
    Command{"run", run},         Command{"wait", wait},       Command{"start", start},
    Command{"stop", stop},       Command{"status", status},   Command{"node-done", node_done},
    Command{"history", history}, Command{"logs", logs},       Command{"validate", validate},
    Command{"verify", verify},   Command{"explain", explain}, Command{"prune", prune},
    Command{"serve", serve},     Command{"inspect", inspect}, Command{"trace", trace},
};

void log_to_stderr(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("stagecall",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::warn);
  spdlog::register_logger(std::move(logger));
}

Result<ExitCode> execute(const CommandLine& line, const Options& options, Output& output) {
  if (auto supported = check_supported(options); !supported) {
    return tl::unexpected<Error>{std::move(supported).error()};
  }
  log_to_stderr(options.log_level);
  const SystemClock clock;
  const auto* command =
      std::find_if(kCommands.begin(), kCommands.end(),
                   [&line](const Command& known) { return line.command == known.name; });
  try {
    return command->execute({line.arguments, options, output, clock});
  } catch (const std::exception& exception) {
    return fail(ErrorCode::internal, line.command + ": " + exception.what());
  }
}

/// The options that need a look at this machine.
Result<Options> complete(Options options, const std::string& command) {
  if (options.store.empty() && command != "validate") {
    auto store = default_store();
    if (!store) {
      return tl::unexpected<Error>{std::move(store).error()};
    }
    options.store = *std::move(store);
  }
  if (options.slots == 0) {
    options.slots = std::max(1U, std::thread::hardware_concurrency());
  }
  return options;
}

/// What was handed over closed must not become the number of a file that is opened later: words for
/// stdout would go into it. Writing fails on what is put there.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) {
      return;
    }
  }
}

ExitCode end(const Result<ExitCode>& result, Output& output, const std::string& file) {
  if (!result) {
    output.error(result.error(), file);
  }
  if (!output.flush()) {
    output.complaint("stagecall: the answer could not be written whole to stdout");
    return ExitCode::unavailable;
  }
  return result ? *result : exit_code_of(result.error().code);
}

}  // namespace

ExitCode dispatch(int argc, const char* const* argv) {
  occupy_standard_descriptors();
  Output early{asks_for_json(argc, argv), false};
  const auto line = parse_command_line(argc, argv);
  if (!line) {
    return end(tl::unexpected<Error>{line.error()}, early, {});
  }
  if (!line->answer.empty()) {
    early.bytes(line->answer);
    return end(ExitCode::done, early, {});
  }
  auto options = gather_options(line->flags, line->config);
  if (options) {
    options = complete(*std::move(options), line->command);
  }
  if (!options) {
    return end(tl::unexpected<Error>{options.error()}, early, {});
  }
  Output output{options->json, options->quiet};
  return end(execute(*line, *options, output), output, line->arguments.file);
}

}  // namespace stagecall::cli
