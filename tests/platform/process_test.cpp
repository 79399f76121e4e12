#include "platform/process.hpp"

#include "platform/random.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

using namespace stagecall;

TEST_CASE("a process identity tells a live process from a reused pid, a zombie and another boot") {
  ProcessIdentity self = this_process();
  CHECK(self.pid == ::getpid());
  CHECK(liveness_of(self) == Liveness::alive);

  ProcessIdentity reused = self;
  reused.start_time += 1;
  CHECK(liveness_of(reused) == Liveness::gone);

  ProcessIdentity rebooted = self;
  rebooted.boot_id = "another";
  CHECK(liveness_of(rebooted) == Liveness::gone);

  ProcessIdentity elsewhere = self;
  elsewhere.host += "x";
  CHECK(liveness_of(elsewhere) == Liveness::unknown);

  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  ProcessIdentity zombie = self;
  zombie.pid = child;
  CHECK(liveness_of(zombie) == Liveness::gone);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a process is not taken for gone because no descriptor is left to look at it") {
  const ProcessIdentity self = this_process();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const Liveness seen = liveness_of(self);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(seen == Liveness::unknown);
}

TEST_CASE("a process that ends while it is looked at is gone, and nothing is thrown") {
  ProcessIdentity child = this_process();
  for (int i = 0; i < 300; ++i) {
    child.pid = ::fork();
    if (child.pid == 0) {
      ::_exit(0);
    }
    std::thread reaper{[pid = child.pid] { ::waitpid(static_cast<pid_t>(pid), nullptr, 0); }};
    Liveness seen = Liveness::unknown;
    CHECK_NOTHROW(seen = liveness_of(child));
    reaper.join();
    CHECK(seen != Liveness::unknown);
    CHECK(liveness_of(child) == Liveness::gone);
  }
}

TEST_CASE("random ids are 32 hexadecimal digits and differ") {
  const std::string id = random_id();
  CHECK(id.size() == 32);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(random_id() != id);
}
