#include "persistence/nudge.hpp"

#include "persistence/local_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace stagecall {
namespace {

constexpr std::size_t kTextMax = 1024;

UniqueFd open_socket() {
  return UniqueFd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

// ---- Receiving ----

class SocketReceiver final : public NudgeReceiver {
 public:
  SocketReceiver(UniqueFd folder, std::string name, UniqueFd socket, UniqueFd wake,
                 std::function<void(std::string)> on_nudge)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        socket_(std::move(socket)),
        wake_(std::move(wake)),
        on_nudge_(std::move(on_nudge)),
        thread_([this] { receive(); }) {}

  ~SocketReceiver() override {
    const std::uint64_t one = 1;
    // An event counter takes a first 1 always.
    static_cast<void>(!::write(wake_.get(), &one, sizeof one));
    thread_.join();
    ::unlinkat(folder_.get(), name_.c_str(), 0);
  }

 private:
  void receive() {
    std::array<pollfd, 2> waits{pollfd{socket_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    while (true) {
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
        return;
      }
      if (waits[1].revents != 0) {
        return;
      }
      std::array<char, kTextMax> text{};
      const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), 0);
      if (size >= 0) {
        on_nudge_(std::string{text.data(), static_cast<std::size_t>(size)});
      }
    }
  }

  UniqueFd folder_;
  std::string name_;
  UniqueFd socket_;
  UniqueFd wake_;
  std::function<void(std::string)> on_nudge_;
  std::thread thread_;  // last: it uses all of the above
};

// ---- Sending ----

class Sender {
 public:
  Sender(UniqueFd folder, std::string_view text)
      : folder_(std::move(folder)),
        socket_(open_socket()),
        text_(text.size() <= kTextMax ? text : std::string_view{}) {}

  /// Whether somebody listens there. A full buffer is as good: its reader is about to look.
  bool send(const std::string& name) const {
    const auto address = local_address(folder_, name);
    if (!address) {
      return false;
    }
    if (::sendto(socket_.get(), text_.data(), text_.size(), MSG_NOSIGNAL, generic(*address),
                 sizeof *address) >= 0) {
      return true;
    }
    const int code = errno;
    if (code == ECONNREFUSED) {
      ::unlinkat(folder_.get(), name.c_str(), 0);
    }
    return code == EAGAIN || code == ENOBUFS;
  }

 private:
  UniqueFd folder_;
  UniqueFd socket_;
  std::string_view text_;
};

}  // namespace

Result<std::unique_ptr<NudgeReceiver>> open_nudge_receiver(
    const std::string& store_folder, const std::string& incarnation,
    std::function<void(std::string)> on_nudge) {
  const auto path = std::filesystem::path{store_folder} / "nudge";
  auto folder = make_socket_folder(path);
  if (!folder) {
    return tl::unexpected<Error>{std::move(folder).error()};
  }
  UniqueFd socket = open_socket();
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC)};
  if (!socket || !wake) {
    return cannot_open_socket(path, errno);
  }
  const auto address = local_address(*folder, incarnation);
  if (!address) {
    return fail(ErrorCode::invalid_argument,
                "cannot open a socket named \"" + incarnation + "\" in " + path.string());
  }
  if (::bind(socket.get(), generic(*address), sizeof *address) != 0) {
    return cannot_open_socket(path, errno);
  }
  return std::make_unique<SocketReceiver>(*std::move(folder), incarnation, std::move(socket),
                                          std::move(wake), std::move(on_nudge));
}

void send_nudge(const std::string& store_folder, const std::string& incarnation,
                const std::string& text) {
  const auto path = std::filesystem::path{store_folder} / "nudge";
  UniqueFd folder = open_socket_folder(path);
  if (!folder) {
    return;  // nobody has ever listened here
  }
  const Sender sender{std::move(folder), text};
  if (!incarnation.empty() && sender.send(incarnation)) {
    return;
  }
  std::error_code failed;
  for (std::filesystem::directory_iterator entry{path, failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    sender.send(entry->path().filename().string());
  }
}

}  // namespace stagecall
