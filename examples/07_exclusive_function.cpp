// A function that one caller at a time may be in, among all threads, processes and hosts that name
// the same server. Its argument is that server: redis://127.0.0.1:6379/0
#include <stagecall/stagecall.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// The resource. No lock can stop a holder that was asleep when its lease ended, so it looks at the
/// numbers: who comes with a smaller one than was seen here comes too late.
class Ledger {
 public:
  bool book(std::uint64_t number, int balance) {
    const std::lock_guard lock{mutex_};
    if (number < number_) {
      return false;
    }
    number_ = number;
    balance_ = balance;
    return true;
  }
  int balance() const {
    const std::lock_guard lock{mutex_};
    return balance_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t number_ = 0;
  int balance_ = 0;
};

// [exclusive]
stagecall::ExclusiveOptions<std::string> one_per_account(const stagecall::LockService& service) {
  return {.key = [](const std::string& account) { return "account/" + account; },
          .service = [service](const std::string&) { return service; },  // or one for each shard
          .lock = {.wait = stagecall::LockWait::at_most(1min), .ttl = 1s}};
}
// [exclusive]

/// Reads, thinks, writes: wrong unless it is alone.
bool deposit(Ledger& ledger, std::uint64_t number) {
  const int before = ledger.balance();
  std::this_thread::yield();
  return ledger.book(number, before + 1);
}

/// Ten callers at once, each of which changes what the one before it left.
bool take_turns(const stagecall::LockService& service, Ledger& ledger) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 10; ++caller) {
    callers.emplace_back([&] {
      const auto booked = stagecall::exclusive(
          one_per_account(service),
          [&](stagecall::Lease& lease, const std::string&) {
            return deposit(ledger, lease.number());
          },
          std::string{"7"});
      if (!booked || !*booked) {
        std::printf("not booked: %s\n", booked ? "too late" : booked.error().message.c_str());
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  std::printf("10 deposits of 1 make %d\n", ledger.balance());
  return ledger.balance() == 10;
}

void wait_for(const std::stop_token& token) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  changed.wait_for(lock, token, 1min, [] { return false; });
}

/// A holder whose key is deleted: it is told, another comes in, its own late write is refused.
bool lose_the_lease(const stagecall::LockService& service, Ledger& ledger, const std::string& url) {
  bool is_told = false;
  bool is_other_in = false;
  bool is_late_refused = false;
  const auto ended = stagecall::exclusive(
      one_per_account(service),
      [&](stagecall::Lease& lease, const std::string& account) {
        const std::string key = "stagecall:{ledger}:lease:account/" + account + "/0";
        if (std::system(("redis-cli -u " + url + " DEL '" + key + "' > /dev/null").c_str()) != 0) {
          return;
        }
        wait_for(lease.stop_token());  // told at the next renewal, a third of the ttl later
        is_told = lease.stop_token().stop_requested();
        const auto other = stagecall::exclusive(
            one_per_account(service),
            [&](stagecall::Lease& next, const std::string&) {
              return next.number() > lease.number() && deposit(ledger, next.number());
            },
            account);
        is_other_in = other && *other;
        is_late_refused = !deposit(ledger, lease.number());
      },
      std::string{"7"});
  const bool is_lost = !ended && ended.error().code == stagecall::ErrorCode::lease_lost;
  std::printf("its key deleted, the holder %s told; another %s in; its late write %s refused\n",
              is_told ? "is" : "is not", is_other_in ? "came" : "did not come",
              is_late_refused ? "is" : "is not");
  std::printf("its call ends with: %s\n", ended ? "no error" : ended.error().message.c_str());
  return is_told && is_other_in && is_late_refused && is_lost && ledger.balance() == 11;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s redis://host:port/db\n", argv[0]);
    return 2;
  }
  const auto service = stagecall::LockService::redis({argv[1]}, "ledger");
  if (!service) {
    std::fprintf(stderr, "%s\n", service.error().message.c_str());
    return 4;
  }
  Ledger ledger;
  return take_turns(*service, ledger) && lose_the_lease(*service, ledger, argv[1]) ? 0 : 1;
}
