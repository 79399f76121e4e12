#include "actors/attempt_inputs.hpp"

#include "messages/limits.hpp"

#include <utility>

namespace stagecall {
namespace {

class StoredInputs final : public AttemptInputs {
 public:
  StoredInputs(RunId run, NodeIndex node, std::shared_ptr<const Definition> definition,
               std::shared_ptr<SharedStore> store)
      : run_(std::move(run)),
        node_(node),
        definition_(std::move(definition)),
        store_(std::move(store)) {}

  Result<std::map<std::string, std::string>> read() const override {
    std::vector<NodeIndex> nodes;
    for (const std::string& id : definition_->node(node_).after) {
      if (const auto found = definition_->find(id)) {
        nodes.push_back(*found);
      }
    }
    auto inputs = read_outputs(*store_, run_, *definition_, nodes);
    std::size_t bytes = 0;
    for (const auto& [id, json] : inputs.value_or(std::map<std::string, std::string>{})) {
      bytes += json.size();
    }
    if (bytes > kLimits.inputs_bytes_max) {
      return fail(ErrorCode::limit_reached,
                  "the inputs of node " + definition_->node(node_).id + " are " +
                      std::to_string(bytes) + " bytes; at most " +
                      std::to_string(kLimits.inputs_bytes_max) + " are allowed");
    }
    return inputs;
  }

 private:
  RunId run_;
  NodeIndex node_;
  std::shared_ptr<const Definition> definition_;  // shared with the run
  std::shared_ptr<SharedStore> store_;            // shared with the engine
};

}  // namespace

Result<std::map<std::string, std::string>> read_outputs(SharedStore& store, const RunId& run,
                                                        const Definition& definition,
                                                        const std::vector<NodeIndex>& nodes) {
  auto kept = store.with([&](Store& open) { return open.outputs(run, nodes); });
  if (!kept) {
    return tl::unexpected<Error>{std::move(kept).error()};
  }
  std::map<std::string, std::string> outputs;
  for (NodeOutput& output : *kept) {
    outputs[definition.node(output.node).id] = std::move(output.body);
  }
  return outputs;
}

std::shared_ptr<const AttemptInputs> inputs_of(const RunId& run, NodeIndex node,
                                               std::shared_ptr<const Definition> definition,
                                               std::shared_ptr<SharedStore> store) {
  if (definition->node(node).after.empty()) {
    return nullptr;
  }
  return std::make_shared<const StoredInputs>(run, node, std::move(definition), std::move(store));
}

}  // namespace stagecall
