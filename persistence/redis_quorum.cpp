#include "persistence/redis_quorum.hpp"

#include <algorithm>
#include <utility>

namespace stagecall {
namespace {

/// Others last until somebody changes a setting, here or there.
bool passes_by_itself(RedisFault fault) {
  switch (fault) {
    case RedisFault::unreachable:
    case RedisFault::timed_out:
    case RedisFault::closed:
    case RedisFault::read_only:
    case RedisFault::loading:
    case RedisFault::out_of_memory:
    case RedisFault::not_saving:
    case RedisFault::busy_script:
    case RedisFault::no_script: return true;
    case RedisFault::denied:
    case RedisFault::not_allowed:
    case RedisFault::other: return false;
  }
  return true;
}

}  // namespace

RedisQuorum::RedisQuorum(const std::vector<RedisServer>& servers, const std::string& client_name,
                         const Clock& clock)
    : clock_(clock) {
  for (const RedisServer& server : servers) {
    clients_.emplace_back(server, client_name);
  }
}

RedisQuorum::Answers RedisQuorum::ask(std::vector<std::vector<RedisCommand>> commands,
                                      BootTime deadline, Duration patience) {
  const BootTime start = clock_.boot();
  std::vector<RedisClient*> asked;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    clients_[i].send(std::move(commands[i]));
    asked.push_back(&clients_[i]);
  }
  const auto waits = [](const RedisClient* client) { return !client->is_done(); };
  const auto has_answered = [](const RedisClient* client) {
    return client->is_done() && !client->failure();
  };
  bool is_decided = false;
  BootTime now = start;
  while (std::any_of(asked.begin(), asked.end(), waits) && now < deadline) {
    RedisClient::advance(asked, deadline - now);
    now = clock_.boot();
    if (!is_decided && std::count_if(asked.begin(), asked.end(), has_answered) >=
                           static_cast<std::ptrdiff_t>(majority())) {
      is_decided = true;
      deadline = std::min(deadline, now + std::max(now - start, patience));
    }
  }
  Answers answers;
  for (RedisClient* client : asked) {
    client->give_up(now - start);
    if (client->failure()) {
      answers.of_server.emplace_back(std::nullopt);
      answers.complaints += (answers.complaints.empty() ? "" : "; ") + client->failure()->text;
      answers.is_refused = answers.is_refused || !passes_by_itself(client->failure()->fault);
    } else {
      answers.of_server.emplace_back(client->replies());
      ++answers.count;
    }
  }
  return answers;
}

}  // namespace stagecall
