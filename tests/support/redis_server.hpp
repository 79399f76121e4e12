// A real redis-server on a free port of the loopback, in a folder of its own, ended with its test.
// Speaks to it with hiredis itself, not with the client that is tested.
#pragma once

#include "tests/support/child_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_folder.hpp"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stagecall::testing {

/// A port that nothing listens on now.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound = ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  ::close(fd);
  if (!is_bound) {
    throw std::runtime_error{"no free port on the loopback"};
  }
  return ntohs(address.sin_port);
}

/// A connection for a test's own questions. Waits for answers without a bound.
class RedisShell {
 public:
  explicit RedisShell(int port) : context_(redisConnect("127.0.0.1", port)) {}

  bool is_connected() const { return context_ && context_->err == 0; }
  void write(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                           sizes.data());
    int is_done = 0;
    while (is_connected() && is_done == 0) {
      redisBufferWrite(context_.get(), &is_done);
    }
  }
  /// Numbers as text, arrays line by line, nil as ""; none: the connection is gone.
  std::optional<std::string> read() {
    void* raw = nullptr;
    if (!is_connected() || redisGetReply(context_.get(), &raw) != REDIS_OK) {
      return std::nullopt;
    }
    const std::unique_ptr<void, void (*)(void*)> owner{raw, freeReplyObject};
    return text_of(*static_cast<const redisReply*>(raw));
  }

 private:
  struct Deleter {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  static std::string text_of(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_INTEGER) {
      return std::to_string(reply.integer);
    }
    std::string text;
    for (std::size_t i = 0; i < reply.elements; ++i) {
      text += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
    }
    return reply.str == nullptr ? text : std::string{reply.str, reply.len};
  }

  std::unique_ptr<redisContext, Deleter> context_;
};

class RedisProcess {
 public:
  /// Started once it answers. `settings` are its options: {"--maxmemory", "1mb"}.
  explicit RedisProcess(std::vector<std::string> settings = {}) : settings_(std::move(settings)) {
    start();
  }

  int port() const { return port_; }
  const std::string& folder() const { return folder_.path(); }

  /// The answer to one command, over a connection of its own.
  std::string ask(const std::vector<std::string>& words) const {
    RedisShell shell{port_};
    if (!password_.empty()) {
      shell.write({"AUTH", password_});
      shell.read();
    }
    shell.write(words);
    return shell.read().value_or("no answer");
  }
  /// With which ask() authenticates from now on.
  void set_password(const std::string& password) { password_ = password; }

  void pause() const { process_->signal(SIGSTOP); }
  void go_on() const { process_->signal(SIGCONT); }
  /// As kill -9 does.
  void kill() { process_.reset(); }
  /// Ends it in an orderly way.
  void stop() {
    process_->signal(SIGTERM);
    process_->wait();
    process_.reset();
  }
  /// On the same port.
  void start() {
    for (int attempts_left = 10; attempts_left > 0; --attempts_left) {
      const int port = port_ == 0 ? free_port() : port_;
      std::vector<std::string> argv{"/usr/bin/redis-server",
                                    "--bind",
                                    "127.0.0.1",
                                    "--port",
                                    std::to_string(port),
                                    "--dir",
                                    folder(),
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no"};
      argv.insert(argv.end(), settings_.begin(), settings_.end());
      process_ = std::make_unique<ChildProcess>(argv, Environment{});
      const bool is_up =
          eventually([&] { return process_->has_ended() || RedisShell{port}.is_connected(); });
      if (is_up && !process_->has_ended()) {
        port_ = port;
        return;
      }
      // Somebody else took the port meanwhile.
    }
    throw std::runtime_error{"redis-server does not start: " + process_->wait().out};
  }
  /// As kill -9 and a new start do, with further settings.
  void restart(const std::vector<std::string>& more = {}) {
    kill();
    settings_.insert(settings_.end(), more.begin(), more.end());
    start();
  }

 private:
  TempFolder folder_;
  std::vector<std::string> settings_;
  std::string password_;
  int port_ = 0;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace stagecall::testing
