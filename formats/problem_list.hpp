// The faults of one file: however they are found, the first ones in document order are kept.
#pragma once

#include "formats/json_document.hpp"
#include "stagecall/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecall {

class ProblemList {
 public:
  bool is_empty() const { return entries_.empty(); }

  /// The value is wrong.
  void add(JsonValue value, std::string message);
  /// Something about the value is wrong that its text does not show: a missing member.
  void add_about(JsonValue value, std::string message);
  /// The text is wrong from this byte on; what comes before it is part of the document.
  void add_at_byte(std::size_t byte, std::string value, std::string message,
                   const JsonDocument& document);
  /// As add, for a value that is not part of the document (its place is `position`).
  void add_at_position(std::uint32_t position, std::string value, std::string message);
  /// The problems of another check, whose pointers are of this document, and its cycle.
  void merge(Error error, const JsonDocument& document);

  /// invalid_pipeline, with at most Limits::problems_max problems.
  Error error(const JsonDocument& document) &&;

 private:
  struct Entry {
    std::uint32_t position;
    Problem problem;  // where is empty until the end: a pointer costs a walk
  };
  void insert(Entry entry);
  void keep_first();

  std::vector<Entry> entries_;
  std::vector<std::string> cycle_;
};

}  // namespace stagecall
