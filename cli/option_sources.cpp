#include "cli/option_sources.hpp"

#include "core/refusal.hpp"

#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stagecall::cli {
namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::string{} : std::string{value};
}

std::string variable_of(std::string_view option) {
  std::string name = "STAGECALL_";
  for (const char letter : option) {
    name += letter == '-' ? '_' : static_cast<char>(letter - ('a' - 'A'));
  }
  return name;
}

/// A folder of the XDG rules, which say that relative ones do not count; empty = none.
std::string xdg_folder(const std::string& variable, const std::string& below_home) {
  if (const std::string folder = environment(variable); folder.starts_with('/')) {
    return folder;
  }
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/" + below_home : std::string{};
}

/// A scalar as it would be written on the command line; none: it is none.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return std::string{flag->get() ? "true" : "false"};
  }
  if (const auto* real = node.as_floating_point()) {
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), real->get());
    return std::string{digits.data(), end.ptr};
  }
  return std::nullopt;
}

Result<void> add_values(std::vector<GivenOption>& given, const OptionSpec& spec,
                        const std::string& origin, const toml::node& node) {
  const auto* list = node.as_array();
  if (spec.repeats && list != nullptr) {
    for (const toml::node& element : *list) {
      if (auto added = add_values(given, spec, origin, element); !added) {
        return added;
      }
    }
    return {};
  }
  const auto text = text_of(node);
  if (!text) {
    return fail(ErrorCode::invalid_argument,
                origin + ": one value is allowed, " + std::string{spec.allowed});
  }
  given.push_back({std::string{spec.name}, *text, origin});
  return {};
}

Result<std::vector<GivenOption>> options_of_table(const toml::table& table,
                                                  const std::string& path) {
  std::vector<GivenOption> given;
  std::vector<std::string> seen;
  for (const auto& [key, node] : table) {
    std::string name{key.str()};
    const std::string origin = stagecall::quoted(name) + " in " + path;
    std::replace(name.begin(), name.end(), '_', '-');
    const auto specs = option_specs();
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&name](const OptionSpec& known) { return known.name == name; });
    if (spec == specs.end()) {
      std::string known;
      for (const OptionSpec& one : specs) {
        known += (known.empty() ? "" : ", ") + std::string{one.name};
      }
      return fail(ErrorCode::invalid_argument, origin + ": there is no such option; " + known);
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return fail(ErrorCode::invalid_argument, origin + ": given twice");
    }
    seen.push_back(name);
    if (auto added = add_values(given, *spec, origin, node); !added) {
      return tl::unexpected<Error>{added.error()};
    }
  }
  return given;
}

/// The settings file to be read; none: there is none.
std::optional<std::string> settings_file(const std::optional<std::string>& config) {
  if (config) {
    return config;
  }
  if (const std::string named = environment(variable_of("config")); !named.empty()) {
    return named;
  }
  const std::string folder = xdg_folder("XDG_CONFIG_HOME", ".config");
  std::string usual = folder + "/stagecall/config.toml";
  std::error_code ignored;
  const bool exists = !folder.empty() && std::filesystem::exists(usual, ignored);
  return exists ? std::optional{std::move(usual)} : std::nullopt;
}

}  // namespace

std::vector<GivenOption> options_of_environment() {
  std::vector<GivenOption> given;
  for (const OptionSpec& spec : option_specs()) {
    const std::string variable = variable_of(spec.name);
    if (std::string value = environment(variable); !value.empty()) {
      given.push_back({std::string{spec.name}, std::move(value), variable});
    }
  }
  return given;
}

Result<std::vector<GivenOption>> options_of_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::invalid_argument,
                "cannot read the settings " + path + ": it is a folder; give a TOML file");
  }
  errno = 0;
  try {
    return options_of_table(toml::parse_file(path), path);
  } catch (const toml::parse_error& error) {
    std::string text = "cannot read the settings " + path + ": " + std::string{error.description()};
    if (error.source().begin.line > 0) {
      text += " at line " + std::to_string(error.source().begin.line);
    } else if (errno != 0) {
      text += std::string{" ("} + std::strerror(errno) + ")";
    }
    return fail(ErrorCode::invalid_argument, std::move(text));
  } catch (const std::exception& error) {
    return fail(ErrorCode::invalid_argument,
                "cannot read the settings " + path + ": " + error.what());
  }
}

Result<Options> gather_options(const std::vector<GivenOption>& flags,
                               const std::optional<std::string>& config) {
  const auto variables = options_of_environment();
  Options checked;
  for (const auto* source : {&flags, &variables}) {
    if (auto applied = apply_options(checked, *source); !applied) {
      return tl::unexpected<Error>{applied.error()};
    }
  }
  std::vector<GivenOption> file;
  if (const auto path = settings_file(config)) {
    auto read = options_of_file(*path);
    if (!read) {
      return tl::unexpected<Error>{std::move(read).error()};
    }
    file = *std::move(read);
  }
  Options options;
  for (const auto* source : {&std::as_const(file), &variables, &flags}) {
    if (auto applied = apply_options(options, *source); !applied) {
      return tl::unexpected<Error>{applied.error()};
    }
  }
  return options;
}

Result<std::string> default_store() {
  const std::string folder = xdg_folder("XDG_STATE_HOME", ".local/state");
  if (folder.empty()) {
    return fail(ErrorCode::invalid_argument,
                "no store: neither --store nor STAGECALL_STORE is given, and neither "
                "XDG_STATE_HOME nor HOME names a folder");
  }
  return folder + "/stagecall/stagecall.db";
}

Result<void> make_store_folder(const std::string& store) {
  for (auto slash = store.find('/', 1); slash != std::string::npos;
       slash = store.find('/', slash + 1)) {
    const std::string folder = store.substr(0, slash);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(ErrorCode::store_unavailable,
                  "cannot make the store's folder " + folder + ": " + std::strerror(errno));
    }
  }
  return {};
}

}  // namespace stagecall::cli
