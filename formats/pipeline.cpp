// The host's Pipeline: a spec, and the Definition that it was found to be. A built one is written
// and read back, so that it obeys the rules of a file and no others.
#include "stagecall/pipeline.hpp"

#include "core/definition.hpp"
#include "formats/pipeline_file.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace stagecall {
namespace {

/// Params are written as they are: anything else than one object would change what is around it.
Result<void> check_params(const std::string& params, const std::string& pointer) {
  if (params.empty()) {
    return {};
  }
  const auto json = nlohmann::json::parse(params, nullptr, false);
  if (json.is_object()) {
    return {};
  }
  Error error{ErrorCode::invalid_pipeline, pointer + ": params must be a JSON object as text"};
  error.problems.push_back({pointer, {}, "must be a JSON object as text"});
  return tl::unexpected<Error>{std::move(error)};
}

Result<std::shared_ptr<const Definition>> definition_of(const PipelineSpec& spec) {
  if (auto checked = check_params(spec.params, "/params"); !checked) {
    return tl::unexpected<Error>{std::move(checked).error()};
  }
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    const std::string pointer = "/nodes/" + std::to_string(i) + "/params";
    if (auto checked = check_params(spec.nodes[i].params, pointer); !checked) {
      return tl::unexpected<Error>{std::move(checked).error()};
    }
  }
  return read_pipeline(write_pipeline(spec), {});
}

}  // namespace

NodeBuilder& NodeBuilder::after(std::vector<std::string> nodes) {
  std::vector<std::string>& all = spec().after;
  all.insert(all.end(), std::make_move_iterator(nodes.begin()),
             std::make_move_iterator(nodes.end()));
  return *this;
}

NodeBuilder& NodeBuilder::params(std::string json) {
  spec().params = std::move(json);
  return *this;
}

NodeBuilder& NodeBuilder::trigger(Trigger trigger) {
  spec().trigger = trigger;
  return *this;
}

NodeBuilder& NodeBuilder::retry(RetryPolicy policy) {
  spec().retry = policy;
  return *this;
}

NodeBuilder& NodeBuilder::timeout(Duration timeout) {
  spec().timeout = timeout;
  return *this;
}

NodeBuilder& NodeBuilder::grace(Duration grace) {
  spec().grace = grace;
  return *this;
}

NodeBuilder& NodeBuilder::priority(std::int32_t priority) {
  spec().priority = priority;
  return *this;
}

NodeBuilder& NodeBuilder::slots(std::uint32_t slots) {
  spec().slots = slots;
  return *this;
}

NodeBuilder& NodeBuilder::env(const std::string& name, std::string value) {
  spec().env[name] = std::move(value);
  return *this;
}

NodeBuilder& NodeBuilder::cwd(std::string folder) {
  spec().cwd = std::move(folder);
  return *this;
}

NodeSpec& NodeBuilder::spec() {
  return pipeline_.change().nodes.at(node_);
}

Result<Pipeline> Pipeline::from_json(std::string_view text, std::string_view stem) {
  auto definition = read_pipeline(text, {.stem = std::string{stem}});
  if (!definition) {
    return tl::unexpected<Error>{std::move(definition).error()};
  }
  return Pipeline{*std::move(definition)};
}

Pipeline::Pipeline(std::string name) {
  spec_.name = std::move(name);
}

Pipeline::Pipeline(PipelineSpec spec) : spec_(std::move(spec)) {}

Pipeline::Pipeline(std::shared_ptr<const Definition> checked) : checked_(std::move(checked)) {}

NodeBuilder Pipeline::task(std::string id, std::string task) {
  return add(std::move(id), TaskAction{std::move(task)});
}

NodeBuilder Pipeline::command(std::string id, std::vector<std::string> argv) {
  return add(std::move(id), CommandAction{.argv = std::move(argv)});
}

NodeBuilder Pipeline::external(std::string id) {
  return add(std::move(id), ExternalAction{});
}

NodeBuilder Pipeline::join(std::string id) {
  return add(std::move(id), JoinAction{});
}

const PipelineSpec& Pipeline::spec() const {
  return checked_ != nullptr ? checked_->spec() : spec_;
}

PipelineSpec& Pipeline::change() {
  if (checked_ != nullptr) {
    spec_ = checked_->spec();
    checked_.reset();
  }
  return spec_;
}

Result<void> Pipeline::check() {
  auto found = definition();
  if (!found) {
    return tl::unexpected<Error>{std::move(found).error()};
  }
  checked_ = *std::move(found);
  spec_ = {};
  return {};
}

Result<std::string> Pipeline::to_json() const {
  return definition().map([](const auto& found) { return write_pipeline(found->spec()); });
}

Result<std::shared_ptr<const Definition>> Pipeline::definition() const {
  if (checked_ != nullptr) {
    return checked_;
  }
  return definition_of(spec_);
}

NodeBuilder Pipeline::add(std::string id, Action action) {
  NodeSpec node;
  node.id = std::move(id);
  node.action = std::move(action);
  std::vector<NodeSpec>& nodes = change().nodes;
  nodes.push_back(std::move(node));
  return {*this, nodes.size() - 1};
}

}  // namespace stagecall
