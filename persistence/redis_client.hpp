// One connection to one Redis server, over hiredis; this and its .cpp are the only files that know
// it. Nothing here blocks but advance(), so that several servers are asked before any answer is
// awaited. Error texts never hold a password, nor what an argument said.
#pragma once

#include "persistence/redis_url.hpp"
#include "stagecall/time.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;

namespace stagecall {

/// A Lua script; the server knows it by its sha1 once it has been loaded.
struct RedisScript {
  std::string_view sha1;
  std::string_view text;
};

struct RedisCommand {
  std::vector<std::string> arguments;   ///< as bytes; an EVALSHA names its script's sha1
  const RedisScript* script = nullptr;  ///< loaded if the server does not know it (any more)
};

struct RedisReply {
  bool is_nil = false;
  std::int64_t integer = 0;
  std::string text{};
  std::vector<RedisReply> items{};
};

enum class RedisFault : std::uint8_t {
  unreachable,  ///< no connection: refused, no route, no such host
  timed_out,    ///< no answer in time
  closed,       ///< the connection broke
  denied,       ///< the password is wrong or missing
  not_allowed,  ///< the user may not do this
  read_only,    ///< a replica
  loading,      ///< it has just started and reads its data
  out_of_memory,
  not_saving,   ///< MISCONF: it refuses writes because it cannot save
  busy_script,  ///< a script does not end
  no_script,    ///< it does not know the script, even after it was loaded
  other,
};

struct RedisError {
  RedisFault fault = RedisFault::other;
  std::string text;  ///< names the server
};

/// Belongs to one thread at a time. Connects by itself, when commands are sent.
class RedisClient {
 public:
  /// The server shows `name` in its list of clients; printable, no blanks.
  RedisClient(RedisServer server, std::string name);
  RedisClient(RedisClient&&) noexcept;
  RedisClient& operator=(RedisClient&&) noexcept;
  ~RedisClient();

  /// Pipelines the commands: writes what the socket takes, awaits nothing. What an earlier batch
  /// still waits for is given up. A connection kept from an earlier batch that turns out to be
  /// closed is replaced once, and what has no reply is sent again: send what may be repeated.
  void send(std::vector<RedisCommand> commands);

  /// Waits until one of the clients can go on, at most `wait`, and lets those go on. A host name is
  /// looked up by the system, in the system's time.
  static void advance(std::span<RedisClient* const> clients, Duration wait);

  /// All replies are here, or no more will come.
  bool is_done() const { return unanswered_ == 0; }
  /// Ends the wait after `waited`: drops the connection, and with it what may still come.
  void give_up(Duration waited);

  /// The first thing that went wrong; then no reply counts.
  const std::optional<RedisError>& failure() const { return failure_; }
  /// In the order of the commands, once done without a failure.
  const std::vector<RedisReply>& replies() const { return replies_; }

 private:
  enum class Stage : std::uint8_t { absent, connecting, greeting, ready };
  enum class Question : std::uint8_t { authentication, selection, naming, script_load, command };
  /// What the next reply on the connection answers.
  struct Expected {
    Question question;
    std::size_t command = 0;
  };
  struct ContextDeleter {
    void operator()(redisContext* context) const;
  };

  void connect();
  void disconnect();
  void greet();
  void write(std::span<const std::string> arguments, Expected expected);
  void write_command(std::size_t index);
  void write_unanswered();
  void flush();
  void read();
  void on_events(int events);
  void on_reply(RedisReply reply, bool is_error);
  void on_refusal(Expected expected, std::string_view text);
  void answered(std::size_t index);
  void broken(RedisFault fault, const std::string& text);
  void note(RedisFault fault, const std::string& text);

  RedisServer server_;
  std::string name_;

  std::unique_ptr<redisContext, ContextDeleter> context_;
  Stage stage_ = Stage::absent;
  bool is_kept_ = false;   ///< the connection has served an earlier batch
  bool is_stale_ = false;  ///< the connection is replaced before the next batch
  std::string output_;
  std::size_t written_ = 0;
  std::deque<Expected> expected_;

  struct Sent {
    RedisCommand command;
    bool is_answered = false;
    bool is_reloaded = false;  ///< sent again behind its script
  };
  std::vector<Sent> sent_;
  std::vector<RedisReply> replies_;
  std::size_t unanswered_ = 0;
  std::optional<RedisError> failure_;
};

}  // namespace stagecall
