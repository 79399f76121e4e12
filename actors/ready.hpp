// What a request thread sends to the actor that it works for: an answer, to be handed over there.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include <functional>

namespace stagecall::host {

struct Ready {
  std::function<void()> hand_over;  ///< called once, in the actor
};

}  // namespace stagecall::host

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Ready)
