#include "persistence/redis_client.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace stagecall {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kErrorBytesMax = 200;

struct ReplyDeleter {
  void operator()(void* reply) const { freeReplyObject(reply); }
};

RedisReply converted(const redisReply& raw) {
  RedisReply reply;
  reply.is_nil = raw.type == REDIS_REPLY_NIL;
  reply.integer = raw.type == REDIS_REPLY_INTEGER ? raw.integer : 0;
  if (raw.str != nullptr) {
    reply.text.assign(raw.str, raw.len);
  }
  for (std::size_t i = 0; i < raw.elements; ++i) {
    reply.items.push_back(converted(*raw.element[i]));
  }
  return reply;
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

RedisFault fault_of(std::string_view error) {
  struct Row {
    std::string_view word;
    RedisFault fault;
  };
  constexpr std::array rows{
      Row{"WRONGPASS", RedisFault::denied},   Row{"NOAUTH", RedisFault::denied},
      Row{"NOPERM", RedisFault::not_allowed}, Row{"READONLY", RedisFault::read_only},
      Row{"LOADING", RedisFault::loading},    Row{"OOM", RedisFault::out_of_memory},
      Row{"MISCONF", RedisFault::not_saving}, Row{"BUSY", RedisFault::busy_script},
      Row{"NOSCRIPT", RedisFault::no_script},
  };
  const auto row = std::find_if(rows.begin(), rows.end(), [word = first_word(error)](const Row& r) {
    return r.word == word;
  });
  return row == rows.end() ? RedisFault::other : row->fault;
}

/// What the server said, without what it repeats of the arguments.
std::string quotable(std::string_view error) {
  std::string text{error.substr(0, std::min(error.find(", with args"), kErrorBytesMax))};
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string system_text(int code) {
  return std::system_category().message(code);
}

}  // namespace

void RedisClient::ContextDeleter::operator()(redisContext* context) const {
  redisFree(context);
}

RedisClient::RedisClient(RedisServer server, std::string name)
    : server_(std::move(server)), name_(std::move(name)) {}
RedisClient::RedisClient(RedisClient&&) noexcept = default;
RedisClient& RedisClient::operator=(RedisClient&&) noexcept = default;
RedisClient::~RedisClient() = default;

// ---- A batch ----

void RedisClient::send(std::vector<RedisCommand> commands) {
  if (unanswered_ > 0 || is_stale_) {
    disconnect();
  }
  failure_.reset();
  replies_.assign(commands.size(), {});
  sent_.clear();
  for (RedisCommand& command : commands) {
    sent_.push_back({.command = std::move(command)});
  }
  unanswered_ = sent_.size();
  if (unanswered_ == 0) {
    return;
  }
  if (stage_ == Stage::ready) {
    is_kept_ = true;
    write_unanswered();
  } else {
    connect();
  }
}

void RedisClient::give_up(Duration waited) {
  if (!is_done()) {
    is_kept_ = false;
    broken(RedisFault::timed_out, "no answer within " + std::to_string(waited.count()) + " ms");
  }
}

void RedisClient::advance(std::span<RedisClient* const> clients, Duration wait) {
  std::vector<pollfd> waits;
  for (const RedisClient* client : clients) {
    // One that is done has no descriptor to look at: poll passes over -1.
    const int fd = client->is_done() || !client->context_ ? -1 : client->context_->fd;
    const bool is_writing =
        client->stage_ == Stage::connecting || client->written_ < client->output_.size();
    const auto events = static_cast<short>(is_writing ? POLLIN | POLLOUT : POLLIN);
    waits.push_back({.fd = fd, .events = events, .revents = 0});
  }
  const auto milliseconds = static_cast<int>(std::clamp<Duration::rep>(wait.count(), 0, 60'000));
  if (::poll(waits.data(), waits.size(), milliseconds) <= 0) {
    return;  // the time is over, or a signal came
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (waits[i].revents != 0) {
      clients[i]->on_events(waits[i].revents);
    }
  }
}

// ---- The connection ----

void RedisClient::connect() {
  is_kept_ = false;
  context_.reset(redisConnectNonBlock(server_.host.c_str(), server_.port));
  if (!context_ || context_->err != 0) {
    broken(RedisFault::unreachable,
           std::string{"cannot connect: "} + (context_ ? context_->errstr : "out of memory"));
    return;
  }
  ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  stage_ = Stage::connecting;
}

void RedisClient::disconnect() {
  context_.reset();
  stage_ = Stage::absent;
  is_stale_ = false;
  output_.clear();
  written_ = 0;
  expected_.clear();
}

/// Who we are comes before anything else: a command must not land in another database.
void RedisClient::greet() {
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) {
    broken(RedisFault::unreachable, "cannot connect: " + system_text(code));
    return;
  }
  redisEnableKeepAlive(context_.get());
  stage_ = Stage::greeting;
  if (!server_.password.empty()) {
    std::vector<std::string> words{"AUTH", server_.user, server_.password};
    if (server_.user.empty()) {
      words.erase(words.begin() + 1);
    }
    write(words, {Question::authentication});
  }
  if (server_.db != 0) {
    write(std::array<std::string, 2>{"SELECT", std::to_string(server_.db)}, {Question::selection});
  }
  write(std::array<std::string, 3>{"CLIENT", "SETNAME", name_}, {Question::naming});
  flush();
}

void RedisClient::on_events(int events) {
  if (stage_ == Stage::connecting) {
    greet();
    return;
  }
  if ((events & POLLOUT) != 0) {
    flush();
  }
  if (context_ && (events & ~POLLOUT) != 0) {
    read();
  }
}

/// A kept connection may have been closed long ago: that says nothing about the server now.
void RedisClient::broken(RedisFault fault, const std::string& text) {
  disconnect();
  if (is_kept_) {
    connect();
    return;
  }
  note(fault, text);
  unanswered_ = 0;
}

void RedisClient::note(RedisFault fault, const std::string& text) {
  if (!failure_) {
    failure_ = RedisError{fault, "redis " + server_.name() + ": " + text};
  }
}

// ---- Writing. hiredis would raise SIGPIPE and wait without a bound. ----

void RedisClient::write(std::span<const std::string> arguments, Expected expected) {
  output_.append("*").append(std::to_string(arguments.size())).append("\r\n");
  for (const std::string& argument : arguments) {
    output_.append("$").append(std::to_string(argument.size())).append("\r\n");
    output_ += argument;
    output_ += "\r\n";
  }
  expected_.push_back(expected);
}

void RedisClient::write_command(std::size_t index) {
  write(sent_[index].command.arguments, {Question::command, index});
}

void RedisClient::write_unanswered() {
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    if (!sent_[i].is_answered) {
      write_command(i);
    }
  }
  flush();
}

void RedisClient::flush() {
  while (written_ < output_.size()) {
    const ssize_t size = ::send(context_->fd, output_.data() + written_, output_.size() - written_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0) {
      if (const int code = errno; code != EAGAIN && code != EWOULDBLOCK) {
        broken(RedisFault::closed, "the connection broke: " + system_text(code));
      }
      return;
    }
    written_ += static_cast<std::size_t>(size);
  }
  output_.clear();
  written_ = 0;
}

// ---- Reading ----

void RedisClient::read() {
  std::array<char, kReadBytes> bytes;
  const ssize_t size = ::recv(context_->fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) {
    if (const int code = errno; code != EINTR && code != EAGAIN && code != EWOULDBLOCK) {
      broken(RedisFault::closed, "the connection broke: " + system_text(code));
    }
    return;
  }
  if (size == 0) {
    broken(RedisFault::closed, "the server closed the connection");
    return;
  }
  redisReaderFeed(context_->reader, bytes.data(), static_cast<std::size_t>(size));
  // Each reply may end the connection.
  while (context_) {
    void* raw = nullptr;
    if (redisReaderGetReply(context_->reader, &raw) != REDIS_OK) {
      broken(RedisFault::closed, "its answer is not Redis's protocol");
      return;
    }
    const std::unique_ptr<void, ReplyDeleter> owner{raw};
    if (!raw) {
      break;
    }
    const auto& reply = *static_cast<const redisReply*>(raw);
    on_reply(converted(reply), reply.type == REDIS_REPLY_ERROR);
  }
  if (context_) {
    flush();
  }
}

void RedisClient::on_reply(RedisReply reply, bool is_error) {
  if (expected_.empty()) {
    broken(RedisFault::closed, "it answers what was not asked");
    return;
  }
  const Expected expected = expected_.front();
  expected_.pop_front();
  if (is_error) {
    on_refusal(expected, reply.text);
  } else if (expected.question == Question::command) {
    replies_[expected.command] = std::move(reply);
    answered(expected.command);
  }
  if (stage_ == Stage::greeting && expected_.empty()) {
    stage_ = Stage::ready;
    write_unanswered();
  }
}

void RedisClient::on_refusal(Expected expected, std::string_view text) {
  switch (expected.question) {
    case Question::authentication:
      // Not what the server says: it may repeat the password.
      broken(RedisFault::denied,
             "it refuses the password: " + std::string{first_word(text)} + " to AUTH");
      return;
    case Question::selection: broken(fault_of(text), quotable(text)); return;
    case Question::naming: return;  // a name is for people
    case Question::script_load: note(fault_of(text), quotable(text)); return;
    case Question::command: break;
  }
  Sent& sent = sent_[expected.command];
  const RedisFault fault = fault_of(text);
  if (fault == RedisFault::no_script && sent.command.script != nullptr && !sent.is_reloaded) {
    sent.is_reloaded = true;
    write(std::array<std::string, 3>{"SCRIPT", "LOAD", std::string{sent.command.script->text}},
          {Question::script_load});
    write_command(expected.command);
    return;
  }
  note(fault,
       fault == RedisFault::denied ? "it wants a password: " + quotable(text) : quotable(text));
  // Another connection may be accepted, or lead to another server behind the same name.
  is_stale_ = is_stale_ || fault == RedisFault::denied || fault == RedisFault::read_only;
  answered(expected.command);
}

void RedisClient::answered(std::size_t index) {
  sent_[index].is_answered = true;
  --unanswered_;
}

}  // namespace stagecall
