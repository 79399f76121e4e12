#include "actors/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace stagecall {
namespace {

constexpr const char* kName = "stagecall";

std::shared_ptr<spdlog::logger> find_logger() {
  if (auto registered = spdlog::get(kName)) {
    return registered;
  }
  auto made =
      std::make_shared<spdlog::logger>(kName, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  made->set_level(spdlog::level::warn);
  return made;
}

}  // namespace

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = find_logger();
  return *logger;
}

}  // namespace stagecall
