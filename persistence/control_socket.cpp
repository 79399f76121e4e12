#include "persistence/control_socket.hpp"

#include "messages/limits.hpp"
#include "persistence/local_socket.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace stagecall {
namespace {

/// Of a socket that does not listen yet: who connected would take its process for dead.
constexpr std::string_view kUnready = ".new";
constexpr std::size_t kLineMax = 16'384;  // a path, each byte of it encoded
constexpr std::size_t kAnswerMax = std::size_t{64} << 20;

UniqueFd open_socket() {
  return UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

std::filesystem::path control_folder(const std::string& store_folder) {
  return std::filesystem::path{store_folder} / "control";
}

bool must_wait(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

int milliseconds_until(BootTime due, const Clock& clock) {
  return static_cast<int>(
      std::clamp<std::int64_t>((due - clock.boot()).count(), 0, Duration{60'000}.count()));
}

// ---- Answering ----

/// One client: its line comes in, then its answer goes out.
class Conversation {
 public:
  Conversation(UniqueFd socket, BootTime due) : socket_(std::move(socket)), due_(due) {}

  int descriptor() const { return socket_.get(); }
  short awaited() const { return answering_ ? POLLOUT : POLLIN; }
  BootTime due() const { return due_; }

  /// False: it is over.
  bool go_on(const ControlAnswer& answer) {
    return (answering_ || read_line(answer)) && (!answering_ || write_answer());
  }

 private:
  bool read_line(const ControlAnswer& answer) {
    std::array<char, 512> part{};
    const ssize_t size = ::recv(socket_.get(), part.data(), part.size(), 0);
    if (size <= 0) {
      return must_wait(size);
    }
    text_.append(part.data(), static_cast<std::size_t>(size));
    const auto end = text_.find('\n');
    if (end == std::string::npos) {
      return text_.size() <= kLineMax;
    }
    try {
      text_ = answer(text_.substr(0, end));
    } catch (const std::exception&) {
      return false;
    }
    answering_ = true;
    return true;
  }

  bool write_answer() {
    const ssize_t size =
        ::send(socket_.get(), text_.data() + sent_, text_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0) {
      return must_wait(size);
    }
    sent_ += static_cast<std::size_t>(size);
    return sent_ < text_.size();
  }

  UniqueFd socket_;
  BootTime due_;
  bool answering_ = false;
  std::string text_;
  std::size_t sent_ = 0;
};

class SocketServer final : public ControlServer {
 public:
  SocketServer(UniqueFd folder, std::string name, UniqueFd socket, UniqueFd wake,
               const Clock& clock, ControlAnswer answer)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        socket_(std::move(socket)),
        wake_(std::move(wake)),
        clock_(clock),
        answer_(std::move(answer)),
        thread_([this] { serve(); }) {}

  ~SocketServer() override {
    const std::uint64_t one = 1;
    // An event counter takes a first 1 always.
    static_cast<void>(!::write(wake_.get(), &one, sizeof one));
    thread_.join();
    ::unlinkat(folder_.get(), name_.c_str(), 0);
  }

 private:
  void serve() {
    while (true) {
      std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
      // More clients than that wait in the socket's own queue.
      const bool has_room = clients_.size() < kLimits.control_clients_max;
      waits.push_back({has_room ? socket_.get() : -1, POLLIN, 0});
      int patience = -1;
      for (const Conversation& client : clients_) {
        waits.push_back({client.descriptor(), client.awaited(), 0});
        const int left = milliseconds_until(client.due(), clock_);
        patience = patience < 0 ? left : std::min(patience, left);
      }
      if ((::poll(waits.data(), waits.size(), patience) < 0 && errno != EINTR) ||
          waits[0].revents != 0) {
        return;
      }
      go_on(waits);
      if (waits[1].revents != 0) {
        UniqueFd client{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (client) {
          clients_.emplace_back(std::move(client), clock_.boot() + kLimits.control_wait);
        }
      }
    }
  }

  void go_on(const std::vector<pollfd>& waits) {
    std::vector<Conversation> open;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const bool goes_on = waits[i + 2].revents == 0 || clients_[i].go_on(answer_);
      if (goes_on && clock_.boot() < clients_[i].due()) {
        open.push_back(std::move(clients_[i]));
      }
    }
    clients_ = std::move(open);
  }

  UniqueFd folder_;
  std::string name_;
  UniqueFd socket_;
  UniqueFd wake_;
  const Clock& clock_;
  ControlAnswer answer_;
  std::vector<Conversation> clients_;
  std::thread thread_;  // last: it uses all of the above
};

// ---- Asking ----

/// Sends all, then reads to the end; none: it did not come in time.
std::optional<std::string> converse(const UniqueFd& socket, const std::string& line, BootTime due,
                                    const Clock& clock) {
  const std::string asked = line + "\n";
  if (::send(socket.get(), asked.data(), asked.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(asked.size())) {
    return std::nullopt;
  }
  std::string answer;
  std::array<char, std::size_t{64} << 10> part{};
  while (answer.size() <= kAnswerMax) {
    pollfd wait{socket.get(), POLLIN, 0};
    if (::poll(&wait, 1, milliseconds_until(due, clock)) == 0 || clock.boot() >= due) {
      return std::nullopt;
    }
    const ssize_t size = ::recv(socket.get(), part.data(), part.size(), 0);
    if (size == 0) {
      return answer;
    }
    if (size < 0 && !must_wait(size)) {
      return std::nullopt;
    }
    answer.append(part.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

std::optional<std::string> ask(const UniqueFd& folder, const std::string& name,
                               const std::string& line, Duration wait, const Clock& clock) {
  const BootTime due = clock.boot() + wait;
  const auto address = local_address(folder, name);
  const UniqueFd socket = open_socket();
  if (!folder || !address || !socket) {
    return std::nullopt;
  }
  if (::connect(socket.get(), generic(*address), sizeof *address) != 0) {
    if (errno == ECONNREFUSED) {
      ::unlinkat(folder.get(), name.c_str(), 0);  // of a process that was killed
    }
    return std::nullopt;
  }
  return converse(socket, line, due, clock);
}

}  // namespace

Result<std::unique_ptr<ControlServer>> open_control_server(const std::string& store_folder,
                                                           const std::string& incarnation,
                                                           const Clock& clock,
                                                           ControlAnswer answer) {
  const auto path = control_folder(store_folder);
  auto folder = make_socket_folder(path);
  if (!folder) {
    return tl::unexpected<Error>{std::move(folder).error()};
  }
  UniqueFd socket = open_socket();
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC)};
  const std::string unready = incarnation + std::string{kUnready};
  const auto address = local_address(*folder, unready);
  if (!address) {
    return fail(ErrorCode::invalid_argument,
                "cannot open a socket named \"" + incarnation + "\" in " + path.string());
  }
  if (!socket || !wake || ::bind(socket.get(), generic(*address), sizeof *address) != 0 ||
      ::fchmodat(folder->get(), unready.c_str(), 0600, 0) != 0 ||
      ::listen(socket.get(), static_cast<int>(kLimits.control_clients_max)) != 0 ||
      ::renameat(folder->get(), unready.c_str(), folder->get(), incarnation.c_str()) != 0) {
    return cannot_open_socket(path, errno);
  }
  return std::make_unique<SocketServer>(*std::move(folder), incarnation, std::move(socket),
                                        std::move(wake), clock, std::move(answer));
}

std::vector<std::string> ask_control_servers(const std::string& store_folder,
                                             const std::string& line, Duration wait,
                                             const Clock& clock) {
  const auto path = control_folder(store_folder);
  const UniqueFd folder = open_socket_folder(path);
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry{path, failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() != kUnready) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> answers;
  for (const std::string& name : names) {
    if (auto answer = ask(folder, name, line, wait, clock)) {
      answers.push_back(*std::move(answer));
    }
  }
  return answers;
}

std::optional<std::string> ask_control_server(const std::string& store_folder,
                                              const std::string& incarnation,
                                              const std::string& line, Duration wait,
                                              const Clock& clock) {
  return ask(open_socket_folder(control_folder(store_folder)), incarnation, line, wait, clock);
}

}  // namespace stagecall
