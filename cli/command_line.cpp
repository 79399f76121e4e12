#include "cli/command_line.hpp"

#include "core/refusal.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace stagecall::cli {
namespace {

constexpr std::string_view kVersion = STAGECALL_VERSION;

constexpr const char* kFooter =
    "Every command takes the options that `stagecall COMMAND --help` lists; each may also come "
    "from "
    "the\nenvironment (STAGECALL_LEASE_TTL) or from a TOML file (--config). A RUN is "
    "PIPELINE/ITERATION, or a\nPIPELINE: its latest run.\n\n"
    "Exit: 0 done, of run and wait: succeeded; 1 failed; 2 usage or invalid input; 3 stopped;\n"
    "4 store, lease or executor unavailable; 5 interrupted, the run lives on.";

/// A positional argument: its name and where it goes; no name ends the list.
struct Positional {
  const char* name = nullptr;
  std::string Arguments::*place = nullptr;
  bool is_required = true;
};

struct CommandSpec {
  const char* name;
  const char* help;
  std::array<Positional, 2> positionals{};
  bool is_listed = true;
};

// `start` takes a FILE or --from-failed RUN.
constexpr std::array kCommands{
    CommandSpec{"run",
                "start a pipeline or join its live run, schedule it if nobody does, and end as it "
                "ends",
                {{{"FILE", &Arguments::file}}}},
    CommandSpec{
        "start", "start a pipeline, schedule nothing", {{{"FILE", &Arguments::file, false}}}},
    CommandSpec{"stop", "stop a run; durable when it returns", {{{"RUN", &Arguments::run}}}},
    CommandSpec{"wait", "wait until a run ends, and end as it ends", {{{"RUN", &Arguments::run}}}},
    CommandSpec{"node-done",
                "report the end of an external node",
                {{{"RUN", &Arguments::run}, {"NODE", &Arguments::node}}}},
    CommandSpec{"status", "how runs stand", {{{"RUN", &Arguments::run, false}}}},
    CommandSpec{"history", "what was decided, when, by whom", {{{"RUN", &Arguments::run}}}},
    CommandSpec{
        "logs", "what a command printed", {{{"RUN", &Arguments::run}, {"NODE", &Arguments::node}}}},
    CommandSpec{"explain",
                "why nodes do not run",
                {{{"RUN", &Arguments::run}, {"NODE", &Arguments::node, false}}}},
    CommandSpec{"validate", "check a pipeline file", {{{"FILE", &Arguments::file}}}},
    CommandSpec{"verify",
                "prove from history that the rules were kept",
                {{{"RUN", &Arguments::run, false}}}},
    CommandSpec{"prune", "remove runs that ended long ago, with all that is kept of them"},
    CommandSpec{"serve", "be a replica: adopt and schedule runs until told to stop"},
    CommandSpec{"inspect", "the live actors of the processes on this store"},
    CommandSpec{"trace",
                "start FILE, or stop: the trace of a live process on this store",
                {{{"ACTION", &Arguments::action}, {"FILE", &Arguments::file, false}}}},
};

void add_common_options(CLI::App& command, CommandLine& line) {
  for (const OptionSpec& spec : option_specs()) {
    const std::string flag = "--" + std::string{spec.name};
    const std::string help{spec.help};
    const std::string name{spec.name};
    const auto take = [&line, name, flag](const std::string& value) {
      line.flags.push_back({name, value, flag});
    };
    CLI::Option* option = nullptr;
    if (spec.placeholder.empty()) {
      option = command
                   .add_flag_callback(
                       flag, [take] { take("true"); }, help)
                   ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    } else if (spec.repeats) {
      option = command
                   .add_option_function<std::vector<std::string>>(
                       flag,
                       [take](const std::vector<std::string>& values) {
                         for (const std::string& value : values) {
                           take(value);
                         }
                       },
                       help)
                   ->expected(1)
                   ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                   ->allow_extra_args(false);
    } else {
      option = command.add_option_function<std::string>(flag, take, help);
    }
    if (!spec.placeholder.empty()) {
      option->option_text(std::string{spec.placeholder});
    }
    option->group("Common options");
  }
  command
      .add_option_function<std::string>(
          "--config", [&line](const std::string& path) { line.config = path; },
          "settings; default: stagecall/config.toml under XDG_CONFIG_HOME")
      ->option_text("FILE.toml")
      ->group("Common options");
}

/// Once for each value.
void add_repeated(CLI::App& command, const char* name, std::vector<std::string>& values,
                  const char* placeholder, const char* help) {
  command.add_option(name, values, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->option_text(placeholder);
}

void add_own_options(CLI::App& command, Arguments& arguments) {
  const std::string name = command.get_name();
  if (name == "node-done") {
    command.add_option("--outcome", arguments.outcome, "succeeded or failed")->required();
    command.add_option("--output", arguments.output, "JSON for its successors, at most 64 KiB");
    command.add_flag("--force", arguments.force, "end any node, whatever its state");
    command.add_option("--reason", arguments.reason, "why it is forced; recorded");
  }
  if (name == "node-done" || name == "logs") {
    command.add_option("--attempt", arguments.attempt, "of this attempt; default: the latest");
  }
  if (name == "history" || name == "logs") {
    command.add_flag("--follow", arguments.follow, "go on as more comes, until the run ends");
  }
  if (name == "inspect") {
    command.add_flag("--follow", arguments.follow, "again each second, until interrupted");
  }
  if (name == "trace") {
    add_repeated(command, "--kind", arguments.kinds, "KIND", "only messages of such actors");
    add_repeated(command, "--run", arguments.runs, "RUN", "only of this run");
  }
  if (name == "prune") {
    command
        .add_option("--older-than", arguments.older_than,
                    "runs that ended so long ago or longer, from 0s on")
        ->option_text("D")
        ->required();
  }
  if (name == "start") {
    command
        .add_option("--from-failed", arguments.from_failed,
                    "the next run of this one's definition: what succeeded is carried, the rest "
                    "runs")
        ->option_text("RUN");
  }
}

void add_commands(CLI::App& app, CommandLine& line) {
  for (const CommandSpec& spec : kCommands) {
    CLI::App* command = app.add_subcommand(spec.name, spec.help);
    command->callback([&line, command] {
      const auto has = [command](const char* name) {
        const CLI::Option* positional = command->get_option_no_throw(name);
        return positional != nullptr && positional->count() > 0;
      };
      line.command = command->get_name();
      line.arguments.names_run = has("RUN");
      line.arguments.names_node = has("NODE");
    });
    if (!spec.is_listed) {
      // Refused as a whole, whatever follows.
      command->group("")->allow_extras()->prefix_command();
      command->set_help_flag();
      continue;
    }
    for (const Positional& positional : spec.positionals) {
      if (positional.name != nullptr) {
        command->add_option(positional.name, line.arguments.*positional.place)
            ->required(positional.is_required)
            ->option_text(positional.is_required ? " " : "(optional)");
      }
    }
    add_own_options(*command, line.arguments);
    add_common_options(*command, line);
  }
}

/// What stands where a command should; empty: nothing does.
std::string first_word(int argc, const char* const* argv) {
  const auto* const word = std::find_if(
      argv + 1, argv + argc, [](const char* text) { return *text != '\0' && *text != '-'; });
  return word == argv + argc ? std::string{} : std::string{*word};
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app{"Durable pipelines, one actor each.", "stagecall"};
  app.set_version_flag("--version", "stagecall " + std::string{kVersion});
  app.footer(kFooter);
  app.require_subcommand(1, 1);
  add_commands(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    line.answer = std::string{version.what()} + "\n";
  } catch (const CLI::CallForHelp&) {
    line.answer = app.help();
  } catch (const CLI::Error& error) {
    const auto used = app.get_subcommands();
    const std::string help =
        "stagecall " + (used.empty() ? std::string{} : used.front()->get_name() + " ") + "--help";
    const std::string unknown = used.empty() ? first_word(argc, argv) : std::string{};
    return fail(ErrorCode::invalid_argument,
                (unknown.empty() ? std::string{error.what()}
                                 : "there is no command " + stagecall::quoted(unknown)) +
                    "; see " + help);
  }
  return line;
}

bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view{argv[i]} != "--"; ++i) {
    if (std::string_view{argv[i]} == "--json") {
      return true;
    }
  }
  const char* variable = std::getenv("STAGECALL_JSON");
  return variable != nullptr &&
         (std::string_view{variable} == "true" || std::string_view{variable} == "1");
}

}  // namespace stagecall::cli
