// What kind of message an actor got: the name of its content's type.
#pragma once

#include <caf/mailbox_element.hpp>
#include <caf/type_erased_tuple.hpp>

#include <cstdint>
#include <string_view>
#include <typeinfo>

namespace stagecall {

/// Of the first element of a message's content, which all of ours have only one of.
struct MessageType {
  std::uint16_t number = 0;              ///< of a type that CAF knows by number
  const std::type_info* name = nullptr;  ///< of any other; none of both: an empty message
  friend bool operator==(const MessageType&, const MessageType&) = default;
};

inline MessageType type_of(const caf::mailbox_element& element) {
  const caf::type_erased_tuple& content = element.content();
  if (content.empty()) {
    return {};
  }
  const auto type = content.type(0);
  return {type.first, type.second};
}

/// `WriteRequest`; without our namespace. Lives as long as the process. Any thread.
std::string_view name_of(const MessageType& type);

}  // namespace stagecall
