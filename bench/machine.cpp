#include "bench/machine.hpp"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace stagecall::bench {
namespace {

/// What stands behind the first line that begins so.
std::string line_of(const std::string& path, const std::string& beginning) {
  std::ifstream in{path};
  std::string line;
  while (std::getline(in, line)) {
    const auto colon = line.find(':');
    if (line.rfind(beginning, 0) == 0 && colon != std::string::npos) {
      const auto text = line.find_first_not_of(" \t", colon + 1);
      return text == std::string::npos ? std::string{} : line.substr(text);
    }
  }
  return {};
}

double kib_of(const std::string& path, const std::string& beginning) {
  double kib = 0;
  std::istringstream{line_of(path, beginning)} >> kib;
  return kib;
}

std::string describe() {
  utsname kernel{};
  ::uname(&kernel);
  const std::string release = kernel.release;
  std::ostringstream text;
  text << std::thread::hardware_concurrency() << " x " << line_of("/proc/cpuinfo", "model name")
       << ", " << std::lround(kib_of("/proc/meminfo", "MemTotal") / (1024 * 1024)) << " GiB, "
       << kernel.sysname << ' ' << release.substr(0, release.find('-'));
  return text.str();
}

}  // namespace

const std::string& machine_text() {
  static const std::string text = describe();
  return text;
}

double resident_mb() {
  return kib_of("/proc/self/status", "VmRSS") / 1024;
}

double cpu_seconds_of_process(pid_t process) {
  std::ifstream in{"/proc/" + std::to_string(process) + "/stat"};
  std::string text;
  std::getline(in, text);
  const auto behind_name = text.rfind(')');
  if (behind_name == std::string::npos) {
    return 0;
  }
  std::istringstream fields{text.substr(behind_name + 2)};
  std::string skipped;
  for (int i = 0; i < 11; ++i) {  // utime is the 12th field behind the name
    fields >> skipped;
  }
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::uint64_t wakeups() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

}  // namespace stagecall::bench
