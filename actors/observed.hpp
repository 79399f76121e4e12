// The one place where every message of every actor passes: counts it, tells the trace of it, and
// contains what it throws.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/message_kind.hpp"
#include "actors/stamped_message.hpp"
#include "actors/traced_system.hpp"
#include "platform/system_clock.hpp"

#include <caf/actor_config.hpp>
#include <caf/invoke_message_result.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_message.hpp>
#include <caf/sec.hpp>

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace stagecall {

/// An actor base. An exception of a handler is logged and ends that message alone: who asked gets
/// caf::sec::runtime_error, unless the handler had made a promise, and the actor lives on.
template <class Base>
class Observed : public Base {
 public:
  explicit Observed(caf::actor_config& config)
      : Base(config), tracer_(tracer_of(this->home_system())) {}

  using Base::enqueue;
  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* unit) override {
    if (is_traced()) {
      element = caf::mailbox_element_ptr{new StampedMessage(std::move(element), trace_now())};
    }
    Base::enqueue(std::move(element), unit);
  }

 protected:
  caf::invoke_message_result consume(caf::mailbox_element& element) override {
    ++handled_;
    const MessageType type = type_of(element);
    // What inspection itself asks would hide what came before.
    if (type.name != &typeid(Describe) && type.name != &typeid(ListRuns)) {
      last_message_ = type;
    }
    if (is_traced() && wants_trace()) {
      return consume_traced(element, type);
    }
    return consume_contained(element);
  }

  /// CAF leaves a request unanswered whose handler has thrown.
  void refuse(caf::mailbox_element& element) {
    if (element.sender && element.mid.is_request() && !element.mid.is_answered()) {
      element.sender->enqueue(caf::strong_actor_ptr{this->ctrl()}, element.mid.response_id(),
                              caf::make_message(caf::make_error(caf::sec::runtime_error)),
                              this->context());
    }
  }

  /// What was being handled may be half done: an actor for which that matters gives up here.
  virtual void after_exception(const std::string&) {}

  /// Of a run's actor: the run.
  virtual std::string subject() const { return {}; }

  /// What it answers to Describe.
  ActorInsight insight(std::map<std::string, std::uint64_t> counters) {
    return {.kind = this->name(),
            .handled = handled_,
            .waiting = this->mailbox().size(),
            .last_message = std::string{name_of(last_message_)},
            .counters = std::move(counters)};
  }

  /// Tells the trace how many there are now, if there is one.
  void trace_count(std::string_view name, std::uint64_t value) {
    if (is_traced()) {
      tracer_->tell(TracedCounter{std::string{name}, trace_now(), value});
    }
  }

  ActorNumber number() const { return {this->id()}; }
  bool is_traced() const { return tracer_ != nullptr && tracer_->is_on(); }
  /// Of the engine; null: its system is a host's or a test's.
  Tracer* tracer() const { return tracer_; }

 private:
  caf::invoke_message_result consume_contained(caf::mailbox_element& element) {
    has_thrown_ = false;
    try {
      return Base::consume(element);
    } catch (const std::exception& exception) {
      log().error("actor_exception actor={} text=\"{}\"", this->name(), exception.what());
      has_thrown_ = true;
      refuse(element);
      after_exception(exception.what());
    }
    return caf::invoke_message_result::consumed;
  }

  /// Asked once of each trace.
  bool wants_trace() {
    if (const auto generation = tracer_->generation(); generation != trace_generation_) {
      trace_generation_ = generation;
      wants_trace_ = tracer_->wants_messages(this->name(), subject());
      if (wants_trace_) {
        tracer_->tell(TracedActor{number(), this->name(), subject(), trace_now()});
      }
    }
    return wants_trace_;
  }

  caf::invoke_message_result consume_traced(caf::mailbox_element& element, MessageType type) {
    const auto* stamped = dynamic_cast<const StampedMessage*>(&element);
    TracedMessage message{.receiver = number(),
                          .cause = stamped == nullptr ? ActorNumber{} : stamped->cause(),
                          .kind = name_of(type),
                          .enqueued = stamped == nullptr ? TraceTime{} : stamped->enqueued(),
                          .started = trace_now(),
                          .waiting = this->mailbox().size()};
    handling_actor = number();
    const auto result = consume_contained(element);
    handling_actor = {};
    message.ended = trace_now();
    message.outcome = has_thrown_ ? MessageOutcome::threw : outcome_of(result);
    tracer_->tell(message);
    return result;
  }

  static MessageOutcome outcome_of(caf::invoke_message_result result) {
    switch (result) {
      case caf::invoke_message_result::consumed: return MessageOutcome::handled;
      case caf::invoke_message_result::skipped: return MessageOutcome::skipped;
      case caf::invoke_message_result::dropped: return MessageOutcome::dropped;
    }
    return MessageOutcome::handled;
  }

  Tracer* tracer_;  // outlives the actors
  std::uint64_t handled_ = 0;
  MessageType last_message_;
  bool has_thrown_ = false;
  bool wants_trace_ = false;
  std::uint64_t trace_generation_ = 0;
};

}  // namespace stagecall
