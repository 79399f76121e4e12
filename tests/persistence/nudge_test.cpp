#include "persistence/nudge.hpp"

#include "tests/persistence/fixtures.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

class Listener {
 public:
  Listener(const std::string& folder, const std::string& name) {
    auto opened = open_nudge_receiver(folder, name, [this](std::string text) {
      const std::lock_guard lock{mutex_};
      texts_.push_back(std::move(text));
      changed_.notify_all();
    });
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
    receiver_ = std::move(*opened);
  }

  /// What has come once there are so many, or what there is after a generous while.
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return texts_.size() >= count; });
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  std::unique_ptr<NudgeReceiver> receiver_;  // last: its thread uses the others
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a nudge reaches the one that it is for, with its text, from another process too") {
  const TempFolder folder;
  // Longer than a socket address can hold.
  const std::string store = folder / std::string(150, 'd');
  Listener one{store, "one"};
  Listener two{store, "two"};
  send_nudge(store, "one", "p/1");
  CHECK(one.wait_for(1) == Texts{"p/1"});
  CHECK(run_in_child([&] {
          send_nudge(store, "one", "");
          return 0;
        }) == 0);
  CHECK(one.wait_for(2) == Texts{"p/1", ""});
  send_nudge(store, "two", "last");
  CHECK(two.wait_for(1) == Texts{"last"});
}

TEST_CASE("a nudge for nobody in particular, or for one that is gone, reaches all") {
  const TempFolder folder;
  const std::string store = folder / "store.d";
  Listener one{store, "one"};
  Listener two{store, "two"};
  send_nudge(store, "", "a");
  send_nudge(store, "gone", "b");
  send_nudge(store, "../one", "c");
  CHECK(one.wait_for(3) == Texts{"a", "b", "c"});
  CHECK(two.wait_for(3) == Texts{"a", "b", "c"});
}

TEST_CASE("a text over the limit arrives as a bare hint") {
  const TempFolder folder;
  Listener one{folder / "store.d", "one"};
  send_nudge(folder / "store.d", "one", std::string(1'024, 'x'));
  send_nudge(folder / "store.d", "one", std::string(1'025, 'x'));
  CHECK(one.wait_for(2) == Texts{std::string(1'024, 'x'), ""});
}

TEST_CASE("sockets go with their receiver, those of a killed one when they are met") {
  const TempFolder folder;
  const std::string store = folder / "store.d";
  { Listener one{store, "one"}; }
  CHECK_FALSE(std::filesystem::exists(store + "/nudge/one"));

  CHECK(run_in_child([&]() -> int {
          const auto opened = open_nudge_receiver(store, "killed", [](std::string) {});
          ::_exit(opened ? 0 : 1);
        }) == 0);
  CHECK(std::filesystem::exists(store + "/nudge/killed"));
  Listener two{store, "two"};
  send_nudge(store, "killed", "now");
  CHECK(two.wait_for(1) == Texts{"now"});
  CHECK_FALSE(std::filesystem::exists(store + "/nudge/killed"));
}

TEST_CASE("the folder is private, a sender never blocks, with no reader and with a full one") {
  const TempFolder folder;
  const std::string store = folder / "store.d";
  send_nudge(store, "one", "nobody listens");
  CHECK_FALSE(std::filesystem::exists(store));
  const auto receiver = open_nudge_receiver(store, "one", [](std::string) {});
  struct ::stat status {};
  REQUIRE(::stat((store + "/nudge").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);

  // A socket that nobody reads fills up; the sends end nevertheless, and it is not removed.
  const int full = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = store + "/nudge/full";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(full, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  for (int i = 0; i < 2'000; ++i) {
    send_nudge(store, "full", "p/1");
  }
  CHECK(std::filesystem::exists(path));
  ::close(full);
}

TEST_CASE("a name that is no file name is refused") {
  const TempFolder folder;
  for (const std::string& name :
       {std::string{}, std::string{"a/b"}, std::string{".."}, std::string(120, 'n')}) {
    CHECK(code_of(open_nudge_receiver(folder / "store.d", name, [](std::string) {})) ==
          "invalid_argument");
  }
}
