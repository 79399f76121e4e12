#include "platform/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace stagecall {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  // Up to 256 bytes are never cut short once the pool is initialised; only a signal interrupts.
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
    if (errno != EINTR) {
      std::perror("getrandom");
      std::abort();
    }
  }
  return number;
}

std::string random_id() {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx",
                static_cast<unsigned long long>(random_number()),
                static_cast<unsigned long long>(random_number()));
  return text;
}

}  // namespace stagecall
