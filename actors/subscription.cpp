#include "actors/subscription.hpp"

#include "actors/log.hpp"
#include "actors/run_events.hpp"
#include "actors/run_reader.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

namespace stagecall {

Subscription::Body::Body(EventFilter filter, EventCallback callback,
                         std::shared_ptr<SharedStore> store, Duration look)
    : filter_(std::move(filter)),
      callback_(std::move(callback)),
      store_(std::move(store)),
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

void Subscription::Body::start() {
  thread_ = std::thread{[self = shared_from_this()] { self->run(); }};
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
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) {
    thread_.join();
  }
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

/// The runs that have grown; after a while without a word those that others may have written to.
std::set<RunId> Subscription::Body::next() {
  std::unique_lock lock{mutex_};
  const bool is_told =
      changed_.wait_for(lock, look_, [this] { return is_ended_ || !grown_.empty(); });
  if (!is_told) {
    lock.unlock();
    look_around();
    lock.lock();
  }
  return std::exchange(grown_, {});
}

void Subscription::Body::look_around() {
  std::set<RunId> seen;
  store_->with([&](Store& store) {
    const auto version = store.data_version();
    if (!version || version_ == *version) {
      return;
    }
    version_ = *version;
    for (const RunRow& row : store.runs().value_or(std::vector<RunRow>{})) {
      const auto told = told_.find(row.run);
      const auto before = before_.find(row.run.pipeline);
      const bool is_new = before == before_.end() || row.run.iteration > before->second;
      if (told != told_.end() ? row.last_seq > told->second : is_new && is_meant(row.run)) {
        seen.insert(row.run);
      }
    }
  });
  const std::lock_guard lock{mutex_};
  grown_.merge(seen);
}

/// False: the subscription is over.
bool Subscription::Body::tell(const RunId& run) {
  if (ended_.contains(run)) {
    return true;
  }
  const auto definition = definition_of(run);
  const auto passes = store_->with([&](Store& store) { return store.history(run, told_[run]); });
  if (!definition || !passes) {
    const Error& error = definition ? passes.error() : definition.error();
    log().warn("subscription_read_failed run={} error=\"{}\"", run.text(), error.message);
    return true;  // looked at again when there is more
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
