#include "formats/held_text.hpp"

#include "formats/field_reader.hpp"
#include "formats/json_reader.hpp"
#include "messages/limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecall {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLeaseLeftMax = std::int64_t{24} * 3'600'000;

/// The members of one object. A missing one is refused like one that does not fit.
class Members {
 public:
  Members(FieldReader& fields, JsonValue object) : fields_(fields), object_(object) {
    (void)fields_.expect(object_, JsonKind::object);
  }

  std::string text(std::string_view name) {
    const auto value = find(name);
    return value ? fields_.text(*value) : std::string{};
  }
  std::string text_or_none(std::string_view name) { return has(name) ? text(name) : std::string{}; }
  std::int64_t integer(std::string_view name, Range<std::int64_t> range) {
    const auto value = find(name);
    return value ? fields_.integer(*value, range) : 0;
  }
  double real(std::string_view name, Range<double> range) {
    const auto value = find(name);
    return value ? fields_.real(*value, range) : 0;
  }
  bool boolean(std::string_view name) {
    const auto value = find(name);
    return value && fields_.expect(*value, JsonKind::boolean) && value->boolean();
  }
  std::optional<JsonValue> array(std::string_view name) {
    const auto value = find(name);
    return value && fields_.expect(*value, JsonKind::array) ? value : std::nullopt;
  }

 private:
  bool has(std::string_view name) const {
    return object_.is(JsonKind::object) && object_.member(name).has_value();
  }
  std::optional<JsonValue> find(std::string_view name) {
    if (!has(name)) {
      fields_.refuse(object_, "a member is missing: " + std::string{name});
      return std::nullopt;
    }
    return object_.member(name);
  }

  FieldReader& fields_;
  JsonValue object_;
};

NodeProgress read_progress(FieldReader& fields, JsonValue value) {
  Members members{fields, value};
  NodeProgress progress{.node = members.text("node")};
  progress.attempt.value = static_cast<std::uint32_t>(
      members.integer("attempt", {1, std::numeric_limits<std::uint32_t>::max()}));
  progress.fraction = members.real("fraction", {0, 1});
  return progress;
}

HeldView read_view(FieldReader& fields, JsonValue value) {
  Members members{fields, value};
  HeldView view;
  if (auto run = RunId::parse(members.text("run"))) {
    view.run = *std::move(run);
  } else {
    fields.refuse(value, "it names no run");
  }
  view.term.value = static_cast<std::uint64_t>(
      members.integer("term", {0, std::numeric_limits<std::int64_t>::max()}));
  view.replica = members.text("replica");
  view.parked = members.text_or_none("parked");
  view.is_draining = members.boolean("draining");
  view.lease_left = Duration{members.integer("lease_left_ms", {-kLeaseLeftMax, kLeaseLeftMax})};
  view.slots_free =
      static_cast<std::uint32_t>(members.integer("slots_free", {0, kLimits.slots_max}));
  view.slots_contended = members.boolean("slots_contended");
  const auto progress = members.array("progress");
  if (progress && progress->size() > kLimits.nodes_listed_max) {
    fields.refuse(*progress, "it names more nodes than a status does");
  } else if (progress) {
    for (const JsonValue node : progress->elements()) {
      view.progress.push_back(read_progress(fields, node));
    }
  }
  return view;
}

}  // namespace

std::string held_text(const HeldView& view) {
  Json value{{"run", view.run.text()}, {"term", view.term.value}, {"replica", view.replica}};
  if (!view.parked.empty()) {
    value["parked"] = view.parked;
  }
  value["draining"] = view.is_draining;
  // A trust that ended long ago is over, however long.
  value["lease_left_ms"] = std::clamp(view.lease_left.count(), -kLeaseLeftMax, kLeaseLeftMax);
  value["slots_free"] = view.slots_free;
  value["slots_contended"] = view.slots_contended;
  value["progress"] = Json::array();
  for (const NodeProgress& node : view.progress) {
    value["progress"].push_back(
        {{"node", node.node}, {"attempt", node.attempt.value}, {"fraction", node.fraction}});
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<HeldView> read_held(std::string_view text) {
  JsonDocument document;
  ProblemList problems;
  if (!read_json(text, document, problems) || !problems.is_empty() || document.is_empty()) {
    return std::nullopt;
  }
  FieldReader fields{problems};
  HeldView view = read_view(fields, document.top());
  return problems.is_empty() ? std::optional{std::move(view)} : std::nullopt;
}

}  // namespace stagecall
