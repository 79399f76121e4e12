// Values of a JSON document as the fields they are meant to be. What does not fit becomes a problem
// that says what is allowed, and the field's fallback, so that the reading goes on.
#pragma once

#include "core/refusal.hpp"
#include "formats/json_document.hpp"
#include "formats/problem_list.hpp"
#include "stagecall/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stagecall {

template <class Number>
struct Range {
  Number from;
  Number to;
};

class FieldReader {
 public:
  explicit FieldReader(ProblemList& problems) : problems_(problems) {}

  ProblemList& problems() { return problems_; }
  void refuse(JsonValue value, std::string message) { problems_.add(value, std::move(message)); }
  /// Whether the value is of this kind; refused otherwise.
  bool expect(JsonValue value, JsonKind kind);

  /// The id of a pipeline, node or task; "" if refused.
  std::string id(JsonValue value);
  /// Without NUL, which would cut it short at the system's door.
  std::string text(JsonValue value);
  std::string filled_text(JsonValue value);
  std::vector<std::string> ids(JsonValue value);
  std::vector<std::string> command(JsonValue value);
  std::map<std::string, std::string> environment(JsonValue value);
  /// An object, as compact text.
  std::string params(JsonValue value);
  bool only_true(JsonValue value);
  std::int64_t integer(JsonValue value, Range<std::int64_t> range);
  double real(JsonValue value, Range<double> range);
  std::optional<Duration> duration(JsonValue value, Duration at_least);
  /// The index of the text among the names; 0 if refused.
  std::size_t choice(JsonValue value, std::span<const std::string_view> names);

 private:
  ProblemList& problems_;
};

/// What is wrong with an id, and what is allowed; nothing if it may stand.
std::optional<std::string> fault_of_id(std::string_view id);

/// The number, if the value is one that a double can hold.
std::optional<double> finite_number(JsonValue value);

/// One member that an object may have, and how it is read into a Target.
template <class Target>
struct MemberRule {
  std::string_view name;
  void (*read)(FieldReader& fields, JsonValue value, Target& target);
};

/// Names, separated by commas: for texts.
std::string listed(std::span<const std::string_view> names);

/// Reads an object by its rules; members without one are refused.
template <class Target>
void read_members(FieldReader& fields, JsonValue object, std::span<const MemberRule<Target>> rules,
                  Target& target) {
  if (!fields.expect(object, JsonKind::object)) {
    return;
  }
  for (const JsonMember member : object.members()) {
    const MemberRule<Target>* rule = nullptr;
    for (const MemberRule<Target>& candidate : rules) {
      rule = candidate.name == member.name ? &candidate : rule;
    }
    if (rule != nullptr) {
      rule->read(fields, member.value, target);
      continue;
    }
    std::vector<std::string_view> names;
    for (const MemberRule<Target>& allowed : rules) {
      names.push_back(allowed.name);
    }
    fields.refuse(member.value,
                  "unknown member " + quoted(member.name) + "; allowed: " + listed(names));
  }
}

}  // namespace stagecall
