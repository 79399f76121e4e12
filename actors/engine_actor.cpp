// The engine behind an actor of the host's system. Its requests are called on threads of their own,
// as they may wait for the store; the answers come back as messages.
#include "actors/observed.hpp"
#include "actors/ready.hpp"
#include "actors/request_threads.hpp"
#include "stagecall/caf.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecall::host {
namespace {

/// So many calls at once: their commits are shared.
constexpr unsigned kRequestThreads = 4;

using Front = EngineActor::extend<caf::reacts_to<Ready>>;

class EngineFront final : public Observed<Front::base> {
 public:
  EngineFront(caf::actor_config& config, std::shared_ptr<Engine> engine)
      : Observed(config), engine_(std::move(engine)) {
    threads_ = std::make_unique<RequestThreads>(kRequestThreads);
    set_down_handler([this](caf::down_msg& down) { left(down.source.id()); });
  }

  const char* name() const override { return "engine"; }

  behavior_type make_behavior() override {
    return {
        [this](const Start& request) {
          return call<StartedRun>([request](Engine& engine) {
            return engine.start_or_join(request.pipeline, request.options);
          });
        },
        [this](const Stop& request) {
          return call<bool>([request](Engine& engine) { return engine.stop(request.run); });
        },
        [this](const NodeDone& request) {
          return call<bool>([request](Engine& engine) {
            return engine.node_done(request.run, request.node, request.attempt, request.outcome,
                                    request.options);
          });
        },
        [this](const StatusOf& request) {
          return call<RunStatus>([request](Engine& engine) { return engine.status(request.run); });
        },
        [this](const Subscribe& request) { return subscribe(request); },
        [](const Ready& ready) { ready.hand_over(); },
    };
  }

  /// The subscriptions first: their threads call the engine. Then the calls in progress. Whoever
  /// still waits is told: CAF leaves a promise that nobody keeps unanswered.
  void on_exit() override {
    subscriptions_.clear();
    for (auto& [id, refuse] : std::exchange(unanswered_, {})) {
      refuse();
    }
    threads_.reset();
    engine_.reset();
  }

 private:
  /// On a request thread: does the call, and has the actor hand over what came of it.
  template <class T, class Call, class Then>
  void call_then(Call call, Then then) {
    threads_->add([self = address(), engine = engine_, call = std::move(call),
                   then = std::move(then)]() mutable {
      auto result = std::make_shared<Result<T>>(call(*engine));  // shared: messages are copied
      engine.reset();
      if (const auto front = caf::actor_cast<Front>(self)) {
        caf::anon_send(front, Ready{[result, then]() mutable { then(std::move(*result)); }});
      }
    });
  }

  template <class T, class Call>
  caf::typed_response_promise<Answer<T>> call(Call call) {
    auto promise = make_response_promise<Answer<T>>();
    call_then<T>(std::move(call), [this, promise, id = owe(promise)](Result<T> result) mutable {
      unanswered_.erase(id);
      promise.deliver(Answer<T>{std::move(result)});
    });
    return promise;
  }

  template <class Promise>
  std::uint64_t owe(Promise promise) {
    unanswered_.emplace(++requests_, [promise]() mutable {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    });
    return requests_;
  }

  /// Its subscriptions end on a request thread: one may wait for the store.
  void left(caf::actor_id subscriber) {
    subscribers_.erase(subscriber);
    if (auto ended = subscriptions_.extract(subscriber)) {
      threads_->add(
          [subscriptions = std::move(ended.mapped())]() mutable { subscriptions.clear(); });
    }
  }

  caf::typed_response_promise<Answer<Subscribed>> subscribe(const Subscribe& request) {
    auto promise = make_response_promise<Answer<Subscribed>>();
    if (!request.subscriber) {
      promise.deliver(Answer<Subscribed>{
          fail(ErrorCode::invalid_argument, "subscribe: there is no subscriber; give an actor")});
      return promise;
    }
    if (subscribers_.insert(request.subscriber.id()).second) {
      monitor(request.subscriber);
    }
    call_then<std::shared_ptr<Subscription>>(
        [filter = request.filter, to = request.subscriber.address()](
            Engine& engine) -> Result<std::shared_ptr<Subscription>> {
          return engine
              .subscribe(filter,
                         [to](const RunEvent& event) {
                           if (const auto subscriber = caf::actor_cast<caf::actor>(to)) {
                             caf::anon_send(subscriber, event);
                           }
                         })
              .map([](Subscription subscription) {
                return std::make_shared<Subscription>(std::move(subscription));
              });
        },
        [this, promise, owed = owe(promise),
         id = request.subscriber.id()](Result<std::shared_ptr<Subscription>> made) mutable {
          unanswered_.erase(owed);
          promise.deliver(Answer<Subscribed>{made.map([](const auto&) { return Subscribed{}; })});
          if (made && subscribers_.contains(id)) {
            subscriptions_[id].push_back(*std::move(made));
          }
        });
    return promise;
  }

  std::shared_ptr<Engine> engine_;  // shared with the host, which may call it as well
  std::unique_ptr<RequestThreads> threads_;
  std::uint64_t requests_ = 0;
  std::map<std::uint64_t, std::function<void()>> unanswered_;  // by request: how it is refused
  std::set<caf::actor_id> subscribers_;                        // alive
  std::unordered_map<caf::actor_id, std::vector<std::shared_ptr<Subscription>>> subscriptions_;
};

}  // namespace

EngineActor spawn_engine(caf::actor_system& system, std::shared_ptr<Engine> engine) {
  return system.spawn<EngineFront>(std::move(engine));
}

Result<EngineActor> spawn_engine(caf::actor_system& system, EngineOptions options) {
  return Engine::open(std::move(options)).map([&system](Engine engine) {
    return spawn_engine(system, std::make_shared<Engine>(std::move(engine)));
  });
}

}  // namespace stagecall::host
