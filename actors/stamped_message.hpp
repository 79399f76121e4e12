// A message that knows when it was sent, and in whose handling: CAF 0.17 notes neither.
#pragma once

#include "stagecall/trace.hpp"

#include <caf/mailbox_element.hpp>
#include <caf/message.hpp>

#include <utility>

namespace stagecall {

/// The actor whose handler runs on this thread, while it is traced.
inline thread_local ActorNumber handling_actor{};

/// Stands in a mailbox for the message that it holds, whose content it hands on.
class StampedMessage final : public caf::mailbox_element {
 public:
  StampedMessage(caf::mailbox_element_ptr message, TraceTime enqueued)
      : caf::mailbox_element(caf::strong_actor_ptr{message->sender}, message->mid,
                             std::move(message->stages)),
        message_(std::move(message)),
        enqueued_(enqueued),
        cause_(handling_actor) {}

  TraceTime enqueued() const { return enqueued_; }
  ActorNumber cause() const { return cause_; }

  caf::type_erased_tuple& content() override { return message_->content(); }
  const caf::type_erased_tuple& content() const override {
    return std::as_const(*message_).content();
  }
  caf::message move_content_to_message() override { return message_->move_content_to_message(); }
  caf::message copy_content_to_message() const override {
    return message_->copy_content_to_message();
  }

 private:
  caf::mailbox_element_ptr message_;
  TraceTime enqueued_;
  ActorNumber cause_;
};

}  // namespace stagecall
