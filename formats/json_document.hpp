// A JSON text as a flat tape of its values, in document order: no value owns another, so that
// depth costs no stack, and a million nodes cost three allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

enum class JsonKind : std::uint8_t { null, boolean, integer, real, string, array, object };

/// `a number`, `an array`: for texts.
std::string_view name_of(JsonKind kind);

class JsonDocument;
class JsonElements;
class JsonMembers;

/// One value of a document: two words, valid as long as the document.
class JsonValue {
 public:
  JsonValue(const JsonDocument& document, std::uint32_t position)
      : document_(&document), position_(position) {}

  JsonKind kind() const;
  bool is(JsonKind wanted) const { return kind() == wanted; }
  /// Where it stands among all values: smaller means earlier in the text.
  std::uint32_t position() const { return position_; }

  bool boolean() const;
  std::int64_t integer() const;
  /// Of a string its content, of a real its digits as written. An integer beyond 64 bits is a real.
  std::string_view text() const;
  /// Elements or members, of an array or object.
  std::size_t size() const;
  JsonElements elements() const;  ///< of an array only
  JsonMembers members() const;    ///< of an object only
  /// The first member of this name; none if there is none, or if this is no object.
  std::optional<JsonValue> member(std::string_view name) const;

 private:
  const JsonDocument* document_;
  std::uint32_t position_;
};

struct JsonMember {
  std::string_view name;
  JsonValue value;
};

class JsonDocument {
 public:
  /// The first value; there must be one.
  JsonValue top() const { return {*this, 0}; }
  bool is_empty() const { return entries_.empty(); }
  /// RFC 6901 pointer of the value at a position, of the next value to come for next_position().
  /// Long names in it are cut as Problem::value is.
  std::string pointer(std::uint32_t position) const;
  std::optional<JsonValue> find(std::string_view pointer) const;

  // For the reader, in document order. A member is its name, added as a string, then its value.
  std::uint32_t next_position() const { return static_cast<std::uint32_t>(entries_.size()); }
  void add(JsonKind kind, std::string_view text = {});
  void add_boolean(bool value);
  void add_integer(std::int64_t value);
  /// Begins an array or object; `close` ends it.
  std::uint32_t open(JsonKind kind);
  void close(std::uint32_t position, std::size_t size);

 private:
  friend class JsonValue;
  friend class JsonElements;
  friend class JsonMembers;

  struct Entry {
    JsonKind kind;
    std::uint32_t size;     // bytes of a text, elements, members
    std::uint64_t payload;  // a text's place in texts_, a number, the position behind a container
  };

  /// The position behind a value; that of an open container is out of reach.
  std::uint32_t behind(std::uint32_t position) const;
  std::string_view text_at(std::uint32_t position) const;

  std::vector<Entry> entries_;
  std::string texts_;
};

/// The elements of an array, in order.
class JsonElements {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument& document, std::uint32_t at) : document_(&document), at_(at) {}
    JsonValue operator*() const { return {*document_, at_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const JsonDocument* document_;
    std::uint32_t at_;
  };
  JsonElements(const JsonDocument& document, std::uint32_t array)
      : document_(&document), array_(array) {}
  Iterator begin() const { return {*document_, array_ + 1}; }
  Iterator end() const;

 private:
  const JsonDocument* document_;
  std::uint32_t array_;
};

/// The members of an object, in document order.
class JsonMembers {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument& document, std::uint32_t at) : document_(&document), at_(at) {}
    JsonMember operator*() const;
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const JsonDocument* document_;
    std::uint32_t at_;
  };
  JsonMembers(const JsonDocument& document, std::uint32_t object)
      : document_(&document), object_(object) {}
  Iterator begin() const { return {*document_, object_ + 1}; }
  Iterator end() const;

 private:
  const JsonDocument* document_;
  std::uint32_t object_;
};

}  // namespace stagecall
