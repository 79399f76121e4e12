// The one place where every message of every actor passes: counts it, and contains what it throws.
#pragma once

#include "actors/log.hpp"

#include <caf/invoke_message_result.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_message.hpp>
#include <caf/sec.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace stagecall {

/// An actor base. An exception of a handler is logged and ends that message alone: who asked gets
/// caf::sec::runtime_error, unless the handler had made a promise, and the actor lives on.
template <class Base>
class Observed : public Base {
 public:
  using Base::Base;

 protected:
  std::uint64_t handled() const { return handled_; }

  caf::invoke_message_result consume(caf::mailbox_element& element) override {
    ++handled_;
    try {
      return Base::consume(element);
    } catch (const std::exception& exception) {
      log().error("actor_exception actor={} text=\"{}\"", this->name(), exception.what());
      refuse(element);
      after_exception(exception.what());
    }
    return caf::invoke_message_result::consumed;
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

 private:
  std::uint64_t handled_ = 0;
};

}  // namespace stagecall
