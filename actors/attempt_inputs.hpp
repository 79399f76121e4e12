// What the dependencies of a node have left, read from the store when its attempt asks for it.
#pragma once

#include "actors/shared_store.hpp"
#include "core/definition.hpp"
#include "stagecall/executor.hpp"

#include <memory>
#include <string>
#include <vector>

namespace stagecall {

/// By node id; those that left nothing are missing.
Result<std::map<std::string, std::string>> read_outputs(SharedStore& store, const RunId& run,
                                                        const Definition& definition,
                                                        const std::vector<NodeIndex>& nodes);

/// None if the node waits for no other. Shares the connection: an abandoned task may ask when the
/// engine is gone.
std::shared_ptr<const AttemptInputs> inputs_of(const RunId& run, NodeIndex node,
                                               std::shared_ptr<const Definition> definition,
                                               std::shared_ptr<SharedStore> store);

}  // namespace stagecall
