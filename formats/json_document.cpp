#include "formats/json_document.hpp"

#include "core/refusal.hpp"

#include <bit>
#include <charconv>
#include <limits>

namespace stagecall {
namespace {

constexpr std::uint32_t kOpenEnd = std::numeric_limits<std::uint32_t>::max();

std::string escape_for_pointer(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string unescape_from_pointer(std::string_view segment) {
  std::string name;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '~' && i + 1 < segment.size()) {
      ++i;
      name += segment[i] == '1' ? '/' : '~';
    } else {
      name += segment[i];
    }
  }
  return name;
}

std::optional<JsonValue> child_of(JsonValue parent, std::string_view segment) {
  if (!parent.is(JsonKind::array)) {
    return parent.member(unescape_from_pointer(segment));
  }
  std::size_t wanted = 0;
  const char* end = segment.data() + segment.size();
  const auto read = std::from_chars(segment.data(), end, wanted);
  if (read.ec != std::errc{} || read.ptr != end || wanted >= parent.size()) {
    return std::nullopt;
  }
  auto at = parent.elements().begin();
  for (; wanted > 0; --wanted) {
    ++at;
  }
  return *at;
}

}  // namespace

std::string_view name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "a boolean";
    case JsonKind::integer:
    case JsonKind::real: return "a number";
    case JsonKind::string: return "a string";
    case JsonKind::array: return "an array";
    case JsonKind::object: return "an object";
  }
  return "?";
}

JsonKind JsonValue::kind() const {
  return document_->entries_[position_].kind;
}

bool JsonValue::boolean() const {
  return document_->entries_[position_].payload != 0;
}

std::int64_t JsonValue::integer() const {
  return std::bit_cast<std::int64_t>(document_->entries_[position_].payload);
}

std::string_view JsonValue::text() const {
  return document_->text_at(position_);
}

std::size_t JsonValue::size() const {
  return document_->entries_[position_].size;
}

JsonElements JsonValue::elements() const {
  return {*document_, position_};
}

JsonMembers JsonValue::members() const {
  return {*document_, position_};
}

std::optional<JsonValue> JsonValue::member(std::string_view name) const {
  if (!is(JsonKind::object)) {
    return std::nullopt;
  }
  for (const JsonMember member : members()) {
    if (member.name == name) {
      return member.value;
    }
  }
  return std::nullopt;
}

std::string JsonDocument::pointer(std::uint32_t position) const {
  std::string pointer;
  std::uint32_t at = 0;
  while (at != position) {
    const bool is_object = entries_[at].kind == JsonKind::object;
    std::uint32_t child = is_object ? at + 2 : at + 1;
    std::uint32_t index = 0;
    while (position >= behind(child)) {
      child = behind(child) + (is_object ? 1 : 0);
      ++index;
    }
    pointer += '/';
    pointer += is_object ? escape_for_pointer(excerpt(text_at(child - 1))) : std::to_string(index);
    at = child;
  }
  return pointer;
}

std::optional<JsonValue> JsonDocument::find(std::string_view pointer) const {
  std::optional<JsonValue> at = top();
  while (at && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view segment = pointer.substr(0, pointer.find('/'));
    at = child_of(*at, segment);
    pointer.remove_prefix(segment.size());
  }
  return at;
}

void JsonDocument::add(JsonKind kind, std::string_view text) {
  entries_.push_back({kind, static_cast<std::uint32_t>(text.size()), texts_.size()});
  texts_.append(text);
}

void JsonDocument::add_boolean(bool value) {
  entries_.push_back({JsonKind::boolean, 0, value ? 1U : 0U});
}

void JsonDocument::add_integer(std::int64_t value) {
  entries_.push_back({JsonKind::integer, 0, std::bit_cast<std::uint64_t>(value)});
}

std::uint32_t JsonDocument::open(JsonKind kind) {
  entries_.push_back({kind, 0, kOpenEnd});
  return next_position() - 1;
}

void JsonDocument::close(std::uint32_t position, std::size_t size) {
  entries_[position].size = static_cast<std::uint32_t>(size);
  entries_[position].payload = next_position();
}

std::uint32_t JsonDocument::behind(std::uint32_t position) const {
  if (position >= entries_.size()) {
    return kOpenEnd;
  }
  const Entry& entry = entries_[position];
  const bool is_container = entry.kind == JsonKind::array || entry.kind == JsonKind::object;
  return is_container ? static_cast<std::uint32_t>(entry.payload) : position + 1;
}

std::string_view JsonDocument::text_at(std::uint32_t position) const {
  const Entry& entry = entries_[position];
  return std::string_view{texts_}.substr(entry.payload, entry.size);
}

JsonElements::Iterator& JsonElements::Iterator::operator++() {
  at_ = document_->behind(at_);
  return *this;
}

JsonElements::Iterator JsonElements::end() const {
  return {*document_, document_->behind(array_)};
}

JsonMember JsonMembers::Iterator::operator*() const {
  return {document_->text_at(at_), {*document_, at_ + 1}};
}

JsonMembers::Iterator& JsonMembers::Iterator::operator++() {
  at_ = document_->behind(at_ + 1);
  return *this;
}

JsonMembers::Iterator JsonMembers::end() const {
  return {*document_, document_->behind(object_)};
}

}  // namespace stagecall
