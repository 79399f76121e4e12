#include "actors/subscription.hpp"

#include "actors/log.hpp"
#include "actors/run_events.hpp"
#include "actors/run_reader.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace stagecall {

Subscription::Body::Body(EventFilter filter, EventCallback callback,
                         std::shared_ptr<SharedStore> store, const Clock& clock, Duration look)
    : filter_(std::move(filter)),
      callback_(std::move(callback)),
      store_(std::move(store)),
      clock_(clock),
      look_(look) {}

Subscription::Body::~Body() {
  if (!thread_.joinable()) {
    return;
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // it is about to return
  } else {
    thread_.join();
  }
}

/// One run is read from where the filter says; of all others only what comes from now on.
Result<void> Subscription::Body::place() {
  return store_->with([this](Store& store) -> Result<void> {
    if (filter_.run) {
      const auto row = store.run(*filter_.run);
      if (!row) {
        return tl::unexpected<Error>{row.error()};
      }
      told_[*filter_.run] = filter_.after;
      grown(*filter_.run);
      return {};
    }
    const auto rows = store.runs();
    if (!rows) {
      return tl::unexpected<Error>{rows.error()};
    }
    for (const RunRow& row : *rows) {
      std::uint64_t& latest = before_[row.run.pipeline];
      latest = std::max(latest, row.run.iteration);
      if (is_meant(row.run) && !is_terminal(row.summary.state)) {
        told_[row.run] = row.last_seq;
      }
    }
    return {};
  });
}

Result<void> Subscription::Body::start() {
  look_at_ = clock_.boot() + look_;
  try {
    thread_ = std::thread{[self = shared_from_this()] { self->run(); }};
  } catch (const std::system_error& error) {
    return fail(ErrorCode::limit_reached,
                std::string{"subscribe: cannot start its thread: "} + error.what());
  }
  return {};
}

void Subscription::Body::grown(const RunId& run) {
  if (!is_meant(run)) {
    return;
  }
  const std::lock_guard lock{mutex_};
  if (grown_.insert(run).second) {
    changed_.notify_one();
  }
}

void Subscription::Body::end() {
  {
    const std::lock_guard lock{mutex_};
    is_ended_ = true;
    changed_.notify_one();
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    return;
  }
  // Whoever has subscribed and the engine may both end it: one joins, the other waits for that.
  std::call_once(joined_, [this] {
    if (thread_.joinable()) {
      thread_.join();
    }
  });
}

bool Subscription::Body::is_meant(const RunId& run) const {
  return (!filter_.run || *filter_.run == run) &&
         (!filter_.pipeline || *filter_.pipeline == run.pipeline);
}

void Subscription::Body::run() {
  while (true) {
    const std::set<RunId> runs = next();
    for (const RunId& run : runs) {
      if (!tell(run)) {
        return;
      }
    }
    const std::lock_guard lock{mutex_};
    if (is_ended_) {
      return;
    }
  }
}

/// The runs that have grown; once a look also those that others may have written to.
std::set<RunId> Subscription::Body::next() {
  std::unique_lock lock{mutex_};
  changed_.wait_for(lock, std::clamp(look_at_ - clock_.boot(), Duration{0}, look_),
                    [this] { return is_ended_ || !grown_.empty(); });
  // Also while runs of this process keep it busy.
  if (const BootTime now = clock_.boot(); !is_ended_ && now >= look_at_) {
    look_at_ = now + look_;
    lock.unlock();
    look_around();
    lock.lock();
  }
  return std::exchange(grown_, {});
}

/// Whether it began after the subscription did.
bool Subscription::Body::is_new(const RunId& run) const {
  const auto before = before_.find(run.pipeline);
  return is_meant(run) && (before == before_.end() || run.iteration > before->second);
}

/// With the next look.
void Subscription::Body::again(const RunId& run) {
  version_.reset();
  told_.try_emplace(run, Seq{0});
}

void Subscription::Body::look_around() {
  std::set<RunId> seen;
  store_->with([&](Store& store) {
    const auto version = store.data_version();
    if (!version || version_ == *version) {
      return;
    }
    const auto rows = store.runs();
    if (!rows) {
      return;
    }
    version_ = *version;
    for (const RunRow& row : *rows) {
      const auto told = told_.find(row.run);
      if (told != told_.end() ? row.last_seq > told->second : is_new(row.run)) {
        seen.insert(row.run);
      }
    }
  });
  const std::lock_guard lock{mutex_};
  grown_.merge(seen);
}

/// False: the subscription is over.
bool Subscription::Body::tell(const RunId& run) {
  if (ended_.contains(run) || (!told_.contains(run) && !is_new(run))) {
    return true;
  }
  const auto definition = definition_of(run);
  const auto passes = store_->with([&](Store& store) { return store.history(run, told_[run]); });
  if (!definition || !passes) {
    const Error& error = definition ? passes.error() : definition.error();
    log().warn("subscription_read_failed run={} error=\"{}\"", run.text(), error.message);
    again(run);
    return true;
  }
  for (const StoredPass& stored : *passes) {
    for (const Event& event : stored.pass.events) {
      if (!call(run_event(run, stored.pass, event, **definition))) {
        return false;
      }
      if (std::holds_alternative<RunEnded>(event)) {
        told_.erase(run);
        definitions_.erase(run);
        ended_.insert(run);
        ended_order_.push_back(run);
        if (ended_order_.size() > kLimits.ended_runs_max) {
          ended_.erase(ended_order_.front());
          ended_order_.pop_front();
        }
        return true;
      }
    }
    told_[run] = stored.pass.seq;
  }
  return true;
}

/// False: it must not be called any more.
bool Subscription::Body::call(const RunEvent& event) {
  {
    const std::lock_guard lock{mutex_};
    if (is_ended_) {
      return false;
    }
  }
  try {
    callback_(event);
    return true;
  } catch (const std::exception& exception) {
    log().error("subscription_ended run={} text=\"{}\"", event.run.text(), exception.what());
  } catch (...) {
    log().error("subscription_ended run={} text=\"no std::exception\"", event.run.text());
  }
  return false;
}

Result<std::shared_ptr<const Definition>> Subscription::Body::definition_of(const RunId& run) {
  if (const auto known = definitions_.find(run); known != definitions_.end()) {
    return known->second;
  }
  auto read = store_->with([&](Store& store) -> Result<std::shared_ptr<const Definition>> {
    const auto row = store.run(run);
    if (!row) {
      return tl::unexpected<Error>{row.error()};
    }
    return read_definition(store, *row);
  });
  if (read) {
    definitions_[run] = *read;
  }
  return read;
}

Subscription::Subscription(std::shared_ptr<Body> body) : body_(std::move(body)) {}
Subscription::Subscription(Subscription&&) noexcept = default;

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    if (body_ != nullptr) {
      body_->end();
    }
    body_ = std::move(other.body_);
  }
  return *this;
}

Subscription::~Subscription() {
  if (body_ != nullptr) {
    body_->end();
  }
}

}  // namespace stagecall
