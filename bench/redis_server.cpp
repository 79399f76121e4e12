#include "bench/redis_server.hpp"

#include "bench/engine_runs.hpp"
#include "platform/unique_fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace stagecall::bench {
namespace {

constexpr Duration kPatience{10'000};
constexpr std::chrono::milliseconds kLook{5};

/// One that nothing listens on now; 0: none.
std::uint16_t free_port() {
  const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound =
      ::bind(socket.get(), generic, size) == 0 && ::getsockname(socket.get(), generic, &size) == 0;
  return is_bound ? ntohs(address.sin_port) : std::uint16_t{0};
}

}  // namespace

Result<std::vector<RedisReply>> ask(RedisClient& client, std::vector<RedisCommand> commands) {
  client.send(std::move(commands));
  RedisClient* const asked = &client;
  const Stopwatch watch;
  while (!client.is_done() && watch.seconds() * 1'000 < static_cast<double>(kPatience.count())) {
    RedisClient::advance({&asked, 1}, kPatience);
  }
  client.give_up(kPatience);
  if (client.failure()) {
    return fail(ErrorCode::lease_unavailable, client.failure()->text);
  }
  return client.replies();
}

Result<RedisProcess> RedisProcess::start(const std::string& folder) {
  const std::uint16_t port = free_port();
  auto child = Child::start({"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port),
                             "--dir", folder, "--save", "", "--appendonly", "no"},
                            folder + "/redis-server.log");
  if (!child) {
    return tl::unexpected<Error>{child.error()};
  }
  RedisProcess server{*std::move(child), port};
  const bool is_up = wait_until(
      [&] {
        RedisClient client{server.address(), "bench"};
        return server.child_.has_ended() || ask(client, {{.arguments = {"PING"}}}).has_value();
      },
      kLook);
  if (!is_up || server.child_.has_ended()) {
    return fail(ErrorCode::lease_unavailable, "redis-server does not start");
  }
  return server;
}

}  // namespace stagecall::bench
