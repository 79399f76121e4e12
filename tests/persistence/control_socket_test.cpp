#include "persistence/control_socket.hpp"

#include "persistence/local_socket.hpp"
#include "platform/system_clock.hpp"
#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

using Texts = std::vector<std::string>;

const SystemClock kClock;

std::unique_ptr<ControlServer> open_server(const std::string& folder, const std::string& name) {
  auto opened = open_control_server(folder, name, kClock,
                                    [name](const std::string& line) { return name + " " + line; });
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
  return *std::move(opened);
}

Texts ask(const std::string& folder, const std::string& line) {
  return ask_control_servers(folder, line, Duration{20'000}, kClock);
}

/// A client that has connected and says nothing, or reads nothing.
UniqueFd connect_to(const std::string& folder, const std::string& name) {
  const UniqueFd there = open_socket_folder(folder + "/control");
  UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto address = local_address(there, name);
  REQUIRE(address.has_value());
  REQUIRE(::connect(socket.get(), generic(*address), sizeof *address) == 0);
  return socket;
}

}  // namespace

TEST_CASE("every live process of a store answers a question, however deep the store lies") {
  const TempFolder folder;
  const std::string store = folder / std::string(150, 'd');
  CHECK(ask(store, "x").empty());
  const auto two = open_server(store, "two");
  {
    const auto one = open_server(store, "one");
    CHECK(ask(store, "x") == Texts{"one x", "two x"});
    CHECK(run_in_child([&] { return ask(store, "y").size() == 2 ? 0 : 1; }) == 0);
  }
  CHECK(ask(store, "x") == Texts{"two x"});
}

TEST_CASE("a control socket is its owner's alone") {
  const TempFolder folder;
  const auto server = open_server(folder / "s.d", "one");
  struct ::stat status {};
  REQUIRE(::stat((folder / "s.d/control").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(::stat((folder / "s.d/control/one").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("what a killed process left behind is skipped and removed") {
  const TempFolder folder;
  const std::string store = folder / "s.d";
  CHECK(run_in_child([&]() -> int {
          const auto server = open_server(store, "killed");
          ::_exit(server ? 0 : 1);
        }) == 0);
  CHECK(std::filesystem::exists(store + "/control/killed"));
  const auto server = open_server(store, "one");
  CHECK(ask(store, "x") == Texts{"one x"});
  CHECK_FALSE(std::filesystem::exists(store + "/control/killed"));
}

TEST_CASE("clients that say nothing or read nothing hold up no other") {
  const TempFolder folder;
  const std::string store = folder / "s.d";
  auto opened = open_control_server(store, "one", kClock, [](const std::string&) {
    return std::string(std::size_t{4} << 20, 'x');  // more than a socket takes at once
  });
  REQUIRE(opened.has_value());
  const UniqueFd silent = connect_to(store, "one");
  const UniqueFd deaf = connect_to(store, "one");
  REQUIRE(::write(deaf.get(), "x\n", 2) == 2);
  for (int i = 0; i < 3; ++i) {
    const Texts answers = ask(store, "x");
    REQUIRE(answers.size() == 1);
    CHECK(answers.front().size() == std::size_t{4} << 20);
  }
}

TEST_CASE("a client that never asks is dropped, and so is one whose line has no end") {
  const TempFolder folder;
  const std::string store = folder / "s.d";
  const auto server = open_server(store, "one");
  const UniqueFd silent = connect_to(store, "one");
  const UniqueFd endless = connect_to(store, "one");
  const std::string much(10'000, 'x');
  static_cast<void>(!::write(endless.get(), much.data(), much.size()));
  char byte = 0;
  CHECK(::read(endless.get(), &byte, 1) <= 0);
  CHECK(::read(silent.get(), &byte, 1) == 0);
}

TEST_CASE("one process is asked by its incarnation alone") {
  const TempFolder folder;
  const std::string store = folder / "s.d";
  const auto one = open_server(store, "one");
  const auto two = open_server(store, "two");
  const auto asked = [&store](const std::string& name) {
    return ask_control_server(store, name, "x", Duration{20'000}, kClock);
  };
  CHECK(asked("two") == "two x");
  for (const char* nobody : {"", "three", "../control/one", "."}) {
    CAPTURE(nobody);
    CHECK(asked(nobody) == std::nullopt);
  }
  CHECK(ask_control_server(folder / "none.d", "one", "x", Duration{20'000}, kClock) ==
        std::nullopt);
}

TEST_CASE("a process that stands still is waited for until the time is over, by the clock given") {
  /// Each look at it is 50 ms later than the one before.
  class HurriedClock final : public Clock {
   public:
    BootTime boot() const override { return BootTime{Duration{50 * ++looks}}; }
    WallTime wall() const override { return WallTime{}; }
    mutable int looks = 0;
  };
  const TempFolder folder;
  const std::string store = folder / "s.d";
  // Connections are taken into its queue, nobody reads them.
  auto there = make_socket_folder(std::filesystem::path{store} / "control");
  REQUIRE(there.has_value());
  const UniqueFd silent{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto address = local_address(*there, "one");
  REQUIRE(address.has_value());
  REQUIRE(::bind(silent.get(), generic(*address), sizeof *address) == 0);
  REQUIRE(::listen(silent.get(), 1) == 0);
  const HurriedClock clock;
  CHECK(ask_control_server(store, "one", "x", Duration{150}, clock) == std::nullopt);
  CHECK(clock.looks <= 4);
}
